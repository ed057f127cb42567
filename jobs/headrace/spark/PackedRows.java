package org.apache.spark.sql.execution;

import java.io.Serializable;
import java.util.Arrays;
import java.util.NoSuchElementException;
import org.apache.spark.Dependency;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.KnownSizeEstimation;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * Some rows of a partition, one after another in one array.
 *
 * Spark keeps each row as two objects of its own. It walks over many of them to find out how much memory they take, and
 * so does each collection of garbage. An array is copied as it stands, and knows its size.
 */
public final class PackedRows implements KnownSizeEstimation, Serializable {
    private static final int BYTES = 1 << 16;
    private static final int OVERHEAD = 64;

    final byte[] rows;
    final int[] ends;
    final int columns;

    PackedRows(byte[] rows, int[] ends, int columns) {
        this.rows = rows;
        this.ends = ends;
        this.columns = columns;
    }

    public long estimatedSize() {
        return OVERHEAD + rows.length + 4L * ends.length;
    }

    /** The rows of an RDD, to be kept until `release`: they are computed and packed once, when they are first read. */
    public static RDD keep(RDD rows) {
        RDD packed = rows.mapPartitions(new Pack(), true, ClassTag$.MODULE$.apply(PackedRows.class));
        return packed.localCheckpoint().mapPartitions(new Unpack(), true, ClassTag$.MODULE$.apply(InternalRow.class));
    }

    /** Give the memory of rows back that are kept; they must not be read any more. */
    public static void release(RDD rows) {
        ((Dependency) rows.dependencies().head()).rdd().unpersist(false);
    }

    /** Packs the rows of a partition. */
    private static final class Pack extends AbstractFunction1 implements Serializable {
        public Object apply(Object rows) {
            return new Packing((Iterator) rows);
        }
    }

    private static final class Packing extends AbstractIterator {
        private final Iterator rows;
        private UnsafeRow next;

        Packing(Iterator rows) {
            this.rows = rows;
            advance();
        }

        public boolean hasNext() {
            return next != null;
        }

        public Object next() {
            if (next == null) {
                throw new NoSuchElementException();
            }
            byte[] bytes = new byte[Math.max(BYTES, next.getSizeInBytes())];
            int[] ends = new int[BYTES >> 9];
            int columns = next.numFields();
            int number = 0;
            int end = 0;
            while (next != null && end + next.getSizeInBytes() <= bytes.length) {
                next.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + end);
                end += next.getSizeInBytes();
                if (number == ends.length) {
                    ends = Arrays.copyOf(ends, 2 * number);
                }
                ends[number++] = end;
                advance();
            }
            return new PackedRows(Arrays.copyOf(bytes, end), Arrays.copyOf(ends, number), columns);
        }

        private void advance() {
            next = rows.hasNext() ? (UnsafeRow) rows.next() : null;
        }
    }

    /** Makes the rows of a partition of what was packed. */
    private static final class Unpack extends AbstractFunction1 implements Serializable {
        public Object apply(Object packed) {
            return new Unpacking((Iterator) packed);
        }
    }

    private static final class Unpacking extends AbstractIterator {
        private final Iterator packed;
        private PackedRows some;
        private int number;
        private int start;

        Unpacking(Iterator packed) {
            this.packed = packed;
        }

        public boolean hasNext() {
            while (some == null || number == some.ends.length) {
                if (!packed.hasNext()) {
                    return false;
                }
                some = (PackedRows) packed.next();
                number = 0;
                start = 0;
            }
            return true;
        }

        public Object next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            int end = some.ends[number++];
            UnsafeRow row = new UnsafeRow(some.columns);
            row.pointTo(some.rows, Platform.BYTE_ARRAY_OFFSET + start, end - start);
            start = end;
            return row;
        }
    }
}
