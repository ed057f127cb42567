import java.util.ArrayList;
import java.util.List;
import org.apache.spark.Dependency;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.BlockRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.expressions.AttributeMap$;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils$;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.CoalesceExec;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.Exchange;
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.ArraySeq;
import scala.math.BigInt;
import scala.math.BigInt$;

/** What is asked of Spark's plans. */
public class PlanNodes {
    /** All nodes of a name, those above first. */
    public static TreeNode[] named(TreeNode plan, String name) {
        List found = new ArrayList();
        for (Object node : below(plan, new ArrayList())) {
            if (((TreeNode) node).nodeName().equals(name)) {
                found.add(node);
            }
        }
        return (TreeNode[]) found.toArray(new TreeNode[found.size()]);
    }

    /** The steps that count something, those above first. */
    public static SparkPlan[] counting(SparkPlan plan, String metric) {
        List found = new ArrayList();
        for (Object node : below(plan, new ArrayList())) {
            if (((SparkPlan) node).metrics().contains(metric)) {
                found.add(node);
            }
        }
        return (SparkPlan[]) found.toArray(new SparkPlan[found.size()]);
    }

    /** Whether rows are sent around, by the plan or by a subquery of it. */
    public static boolean sendsRows(SparkPlan plan) {
        for (Object node : below(plan, new ArrayList())) {
            if (node instanceof Exchange || node instanceof ReusedExchangeExec) {
                return true;
            }
        }
        Iterator subqueries = plan.subqueriesAll().iterator();
        while (subqueries.hasNext()) {
            if (sendsRows((SparkPlan) subqueries.next())) {
                return true;
            }
        }
        return false;
    }

    /** Whether an RDD needs another stage. */
    public static boolean isShuffled(RDD rdd) {
        Iterator dependencies = rdd.dependencies().iterator();
        while (dependencies.hasNext()) {
            Dependency dependency = (Dependency) dependencies.next();
            if (dependency instanceof ShuffleDependency || isShuffled(dependency.rdd())) {
                return true;
            }
        }
        return false;
    }

    /** The same plan where partitions are read one after another instead of being sent to a single one. */
    public static SparkPlan gathered(SparkPlan plan) {
        List children = new ArrayList();
        boolean isSame = true;
        Iterator former = plan.children().iterator();
        while (former.hasNext()) {
            SparkPlan child = (SparkPlan) former.next();
            children.add(gathered(child));
            isSame = isSame && children.get(children.size() - 1) == child;
        }
        if (plan instanceof ShuffleExchangeExec && ((ShuffleExchangeExec) plan).numPartitions() == 1) {
            return new CoalesceExec(1, (SparkPlan) children.get(0));
        }
        return isSame ? plan : (SparkPlan) plan.withNewChildren(ArraySeq.unsafeWrapArray(children.toArray()));
    }

    /** The same plan with a single partition. */
    public static SparkPlan single(SparkPlan plan) {
        return plan.outputPartitioning().numPartitions() == 1 ? plan : new CoalesceExec(1, plan);
    }

    /** Whether a plan reads nothing but blocks of the driver. */
    public static boolean readsBlocksOnly(LogicalPlan plan) {
        Iterator leaves = plan.collectLeaves().iterator();
        while (leaves.hasNext()) {
            Object leaf = leaves.next();
            boolean isBlock = leaf instanceof LogicalRDD && ((LogicalRDD) leaf).rdd() instanceof BlockRDD;
            if (!isBlock && !(leaf instanceof OneRowRelation) && !(leaf instanceof LocalRelation)) {
                return false;
            }
        }
        return true;
    }

    /** Statistics that say how many bytes there are, and nothing else. */
    public static Statistics ofSize(long bytes) {
        return new Statistics(BigInt$.MODULE$.apply(bytes), Option.apply(null), AttributeMap$.MODULE$.empty(), false);
    }

    /** Statistics of some rows with the columns of a plan. */
    public static Statistics ofRows(LogicalPlan plan, long rows) {
        BigInt width = EstimationUtils$.MODULE$.getSizePerRow(plan.output(), AttributeMap$.MODULE$.empty());
        return ofSize(Math.max(rows * width.toLong(), 1L));
    }

    private static List below(TreeNode node, List found) {
        found.add(node);
        Iterator children = node.children().iterator();
        while (children.hasNext()) {
            below((TreeNode) children.next(), found);
        }
        return found;
    }
}
