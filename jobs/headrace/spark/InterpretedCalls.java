import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BindReferences$;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback;
import org.apache.spark.sql.catalyst.expressions.json.StructsToJsonEvaluator;
import org.apache.spark.sql.catalyst.expressions.objects.Called;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.package$;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.TimestampType;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.ArraySeq;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * A rule of the optimizer: what Spark can only interpret is called from code that is generated.
 *
 * By itself Spark generates no code for a step that holds such an expression, anywhere in it. Each of these steps then
 * writes whole rows anew, and cuts what stands before it off from what stands after it. Here the expression becomes a
 * value of its own, which the generated code of the step asks for a result. It gets the columns it reads as a struct.
 * What Spark itself calls in such a way is called without Scala's reflection (see `Called`), in all steps.
 */
public class InterpretedCalls extends Rule {
    public TreeNode apply(TreeNode plan) {
        return plan.transformDown(new Steps());
    }

    private static class Steps extends AbstractPartialFunction {
        public boolean isDefinedAt(Object step) {
            return true;
        }

        public Object applyOrElse(Object step, Function1 otherwise) {
            boolean isChain = step instanceof Project || step instanceof Filter || step instanceof Generate;
            return ((QueryPlan) step).mapExpressions(new Calls(isChain, step instanceof Project));
        }
    }

    private static class Calls extends AbstractFunction1 {
        private final boolean isChain;
        private final boolean isProject;

        Calls(boolean isChain, boolean isProject) {
            this.isChain = isChain;
            this.isProject = isProject;
        }

        /** The same expression with calls; inside of a called one there are none. */
        public Object apply(Object found) {
            Expression expression = (Expression) found;
            if (expression instanceof CodegenFallback) {
                return isChain && isToCall(expression) ? call(expression) : expression;
            }
            if (isProject && isMoment(expression)) {
                return asked((Literal) expression);
            }
            Expression made = (Expression) expression.mapChildren(this);
            return isPlainCall(made) ? plain((Invoke) made) : made;
        }
    }

    private static boolean isToCall(Expression expression) {
        return expression.deterministic() && !expression.references().isEmpty() && canStandAlone(expression);
    }

    /** Whether nothing in it is still to be planned or replaced. */
    private static boolean canStandAlone(Expression expression) {
        if (expression instanceof Unevaluable) {
            return expression instanceof Attribute;
        }
        Iterator children = expression.children().iterator();
        while (children.hasNext()) {
            if (!canStandAlone((Expression) children.next())) {
                return false;
            }
        }
        return true;
    }

    private static Expression call(Expression expression) {
        Seq columns = expression.references().toSeq();
        Expression bound = BindReferences$.MODULE$.bindReference(
            expression, package$.MODULE$.AttributeSeq(columns), false);
        List members = new ArrayList();
        Iterator names = columns.iterator();
        while (names.hasNext()) {
            Attribute column = (Attribute) names.next();
            members.add(Literal$.MODULE$.apply(column.name()));
            members.add(column);
        }
        List arguments = new ArrayList();
        arguments.add(new CreateNamedStruct(sequence(members)));
        Expression callee = Literal$.MODULE$.create(bound, ObjectType.apply(Expression.class));
        return Called.of(callee, "eval", expression.dataType(), sequence(arguments), expression.nullable());
    }

    /** Whether it is what Spark makes of `to_json` or `make_valid_utf8`. */
    private static boolean isPlainCall(Expression expression) {
        if (!(expression instanceof Invoke) || expression instanceof Called) {
            return false;
        }
        Expression target = ((Invoke) expression).targetObject();
        return ((Invoke) expression).functionName().equals("makeValid")
            || target instanceof Literal && ((Literal) target).value() instanceof StructsToJsonEvaluator;
    }

    private static Expression plain(Invoke call) {
        return Called.of(call.targetObject(), call.functionName(), call.dataType(), call.arguments(), true);
    }

    /** Whether it is a moment, such as that of a batch. */
    private static boolean isMoment(Expression expression) {
        return expression instanceof Literal && expression.dataType() instanceof TimestampType && !expression.nullable();
    }

    /** A value that stands beside the code: in it, each batch would have code of its own. */
    private static Expression asked(Literal moment) {
        Expression number = Literal$.MODULE$.create(moment.value(), ObjectType.apply(Long.class));
        return Called.of(number, "longValue", moment.dataType(), sequence(new ArrayList()), false);
    }

    private static Seq sequence(List found) {
        return ArraySeq.unsafeWrapArray(found.toArray());
    }
}
