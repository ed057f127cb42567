import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.spark.Partition;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.datasources.OutputWriter;
import org.apache.spark.sql.execution.datasources.OutputWriterFactory;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.StorageLevel;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.ArraySeq;
import scala.collection.immutable.Map$;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction0;

/** What is done with few rows on the calling thread of the driver: read, kept and written without a job. */
public class DriverTask {
    /** Numbers of attempts of tasks; those that Spark's scheduler gives begin at nought. */
    private static final AtomicLong ATTEMPTS = new AtomicLong(1L << 40);

    /**
     * The first rows of an RDD that needs no other stage, partition by partition.
     * Without `confs` Spark would make some for each value that an expression takes from a row.
     */
    public static InternalRow[] rows(final RDD rdd, final int atMost, SQLConf confs) {
        final List found = new ArrayList();
        SQLConf$.MODULE$.withExistingConf(confs, new AbstractFunction0() {
            public Object apply() {
                Partition[] parts = rdd.partitions();
                for (int part = 0; part < parts.length; part++) {
                    read(rdd, parts[part], atMost, found);
                }
                return found;
            }
        });
        return (InternalRow[]) found.toArray(new InternalRow[found.size()]);
    }

    /** A partition is computed as by a task: with memory and locks of its own, that are given back whatever happens. */
    private static void read(RDD rdd, Partition part, int atMost, List found) {
        SparkEnv env = SparkEnv.get();
        long attempt = ATTEMPTS.getAndIncrement();
        TaskMemoryManager memory = new TaskMemoryManager(env.memoryManager(), attempt);
        TaskContextImpl task = new TaskContextImpl(
            0, 0, part.index(), attempt, 0, 1, memory, new Properties(), env.metricsSystem(), TaskMetrics.empty(), 1,
            (scala.collection.immutable.Map) Map$.MODULE$.empty());
        env.blockManager().registerTask(attempt);
        TaskContext$.MODULE$.setTaskContext(task);
        try {
            Iterator rows = rdd.iterator(part, task);
            while (found.size() < atMost && rows.hasNext()) {
                found.add(((InternalRow) rows.next()).copy());
            }
        } finally {
            try {
                task.markTaskCompleted(Option.apply(null));
            } finally {
                TaskContext$.MODULE$.unset();
                env.blockManager().releaseAllLocksForTask(attempt);
                memory.cleanUpAllAllocatedMemory();
            }
        }
    }

    /** Rows in Spark's binary form: of rows in objects Spark would measure each when it keeps them. */
    public static InternalRow[] packed(final Object[] rows, final StructType schema, SQLConf confs) {
        final InternalRow[] found = new InternalRow[rows.length];
        SQLConf$.MODULE$.withExistingConf(confs, new AbstractFunction0() {
            public Object apply() {
                UnsafeProjection pack = UnsafeProjection.create(schema);
                for (int row = 0; row < found.length; row++) {
                    found[row] = pack.apply((InternalRow) rows[row]).copy();
                }
                return found;
            }
        });
        return found;
    }

    /** Put rows into a block, in the place of those that it has held. */
    public static void keep(BlockId block, InternalRow[] rows, boolean tellOthers) {
        BlockManager blocks = SparkEnv.get().blockManager();
        if (blocks.getStatus(block).isDefined()) { // else Spark warns of it
            blocks.removeBlock(block, tellOthers);
        }
        Iterator each = ArraySeq.unsafeWrapArray(rows).iterator();
        blocks.putIterator(block, each, StorageLevel.MEMORY_AND_DISK(), tellOthers, ClassTag$.MODULE$.Any());
    }

    /** Write rows into a file. */
    public static void write(OutputWriterFactory files, String file, StructType schema, Configuration confs, InternalRow[] rows)
            throws Exception {
        OutputWriter writer = files.newInstance(file, schema, new TaskAttemptContextImpl(confs, new TaskAttemptID()));
        try {
            for (int row = 0; row < rows.length; row++) {
                writer.write(rows[row]);
            }
        } finally {
            writer.close();
        }
    }

    /** How much memory rows take, as far as they are Spark's own kind. */
    public static long bytes(InternalRow[] rows) {
        long bytes = 0;
        for (int row = 0; row < rows.length; row++) {
            if (rows[row] instanceof UnsafeRow) {
                bytes += ((UnsafeRow) rows[row]).getSizeInBytes();
            }
        }
        return bytes;
    }

    /** The rows of two arrays, in order. */
    public static InternalRow[] joined(InternalRow[] first, InternalRow[] second) {
        InternalRow[] all = new InternalRow[first.length + second.length];
        System.arraycopy(first, 0, all, 0, first.length);
        System.arraycopy(second, 0, all, first.length, second.length);
        return all;
    }
}
