package org.apache.spark.sql.catalyst.expressions.objects;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator$;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.ArraySeq;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * A call of a method with one argument or none, from generated code; the method gives an object or null.
 *
 * Spark's own says the same. But to write the name of any method it first starts Scala's reflection, which is used for
 * nothing else: 0.4 CPU-s and a thousand classes.
 */
public class Called extends Invoke {
    public Called(
            Expression target, String method, DataType type, Seq arguments, Seq types, boolean isNullIfOneIs,
            boolean nullable, boolean deterministic) {
        super(target, method, type, arguments, types, isNullIfOneIs, nullable, deterministic);
    }

    public static Called of(Expression target, String method, DataType type, Seq arguments, boolean nullable) {
        return new Called(target, method, type, arguments, none(), true, nullable, true);
    }

    public ExprCode doGenCode(CodegenContext context, ExprCode found) {
        ExprCode target = targetObject().genCode(context);
        ExprCode argument = arguments().isEmpty() ? null : ((Expression) arguments().head()).genCode(context);
        Block before = argument == null ? target.code() : target.code().$plus(argument.code());
        Seq code = sequence(new Object[] {code(context.freshName("result"), target, argument, found)});
        return found.copy(before.$plus(new CodeBlock(code, none())), found.isNull(), found.value());
    }

    private String code(String result, ExprCode target, ExprCode argument, ExprCode found) {
        String isNull = target.isNull() + (argument == null ? "" : " || " + argument.isNull());
        String call = target.value() + "." + functionName() + "(" + (argument == null ? "" : argument.value()) + ")";
        String none = CodeGenerator$.MODULE$.defaultValue(dataType(), true);
        String some = "(" + CodeGenerator$.MODULE$.boxedType(dataType()) + ") " + result;
        return "Object " + result + " = (" + isNull + ") ? null : " + call + ";\n"
            + "boolean " + found.isNull() + " = " + result + " == null;\n"
            + CodeGenerator$.MODULE$.javaType(dataType()) + " " + found.value() + " = "
            + found.isNull() + " ? " + none + " : " + some + ";\n";
    }

    /** No other call is the same: a tree of expressions keeps its own where a new one is equal. */
    public boolean canEqual(Object other) {
        return other instanceof Called;
    }

    public boolean equals(Object other) {
        return other instanceof Called && super.equals(other);
    }

    public int hashCode() {
        return super.hashCode();
    }

    public Invoke withNewChildrenInternal(IndexedSeq children) {
        return of((Expression) children.head(), functionName(), dataType(), (Seq) children.tail(), returnNullable());
    }

    private static Seq none() {
        return sequence(new Object[0]);
    }

    private static Seq sequence(Object[] found) {
        return ArraySeq.unsafeWrapArray(found);
    }
}
