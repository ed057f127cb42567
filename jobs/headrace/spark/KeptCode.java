import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileTime;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.codegen.ByteCodeStats;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeAndComment;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator$;
import org.apache.spark.util.NonFateSharingLoadingCache;
import org.apache.spark.util.ParentClassLoader;
import org.apache.spark.util.Utils$;
import org.codehaus.commons.compiler.util.reflect.ByteArrayClassLoader;
import scala.Function1;
import scala.Tuple2;
import scala.runtime.AbstractFunction1;

/**
 * Code that Spark has generated is compiled once: its classes are kept in a folder, by a hash of their source.
 *
 * It takes the place of the function that Spark's own cache calls for what it does not hold. A file holds a hash of
 * what follows, three sizes that Spark asks for, and the classes; one that cannot be read is compiled and kept again.
 */
public class KeptCode extends AbstractFunction1 {
    private static final String CLASS = "org.apache.spark.sql.catalyst.expressions.GeneratedClass";
    private static final int HASH = 32;

    private final Path folder;
    private final String version;
    private Function1 compiling;

    public KeptCode(String folder, String version) {
        this.folder = Paths.get(folder, new String[0]);
        this.version = version;
    }

    /** Let Spark ask here first, from now on. */
    public void install() throws Exception {
        Method cache = CodeGenerator$.class.getDeclaredMethod("cache", new Class[0]);
        cache.setAccessible(true);
        NonFateSharingLoadingCache found = (NonFateSharingLoadingCache) cache.invoke(CodeGenerator$.MODULE$, new Object[0]);
        Object loader = member(member(found.loadingCache(), "localCache"), "defaultLoader");
        Field function = field(loader.getClass(), "loadingFunc$1");
        Object asked = function.get(loader);
        // A former context of this JVM has put its own there.
        boolean isOurs = asked.getClass().getName().equals(KeptCode.class.getName());
        compiling = (Function1) (isOurs ? member(asked, "compiling") : asked);
        function.set(loader, this);
    }

    public Object apply(Object key) {
        Path file = folder.resolve(name(((CodeAndComment) ((Tuple2) key)._2()).body()));
        try {
            return read(file);
        } catch (Exception unknown) {
            return compiled(key, file);
        } catch (LinkageError damaged) {
            return compiled(key, file);
        }
    }

    private Object compiled(Object key, Path file) {
        Tuple2 made = (Tuple2) compiling.apply(key);
        try {
            write(file, (ByteCodeStats) made._2(), (Map) member(made._1().getClass().getClassLoader(), "classes"));
        } catch (Exception unwritable) {
            // only costs time
        }
        return made;
    }

    private String name(String source) {
        return hex(hash((version + source).getBytes(StandardCharsets.UTF_8)));
    }

    private static Tuple2 read(Path file) throws Exception {
        byte[] content = Files.readAllBytes(file);
        byte[] kept = Arrays.copyOfRange(content, HASH, content.length);
        if (!Arrays.equals(hash(kept), Arrays.copyOf(content, HASH))) {
            throw new IOException("damaged");
        }
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(kept));
        ByteCodeStats sizes = new ByteCodeStats(in.readInt(), in.readInt(), in.readInt());
        Object made = loader(in).loadClass(CLASS).getConstructor(new Class[0]).newInstance(new Object[0]);
        Files.setLastModifiedTime(file, FileTime.fromMillis(System.currentTimeMillis()));
        return new Tuple2(made, sizes);
    }

    private static ClassLoader loader(DataInputStream in) throws IOException {
        Map classes = new HashMap();
        for (int left = in.readInt(); left > 0; left--) {
            String name = in.readUTF();
            byte[] code = new byte[in.readInt()];
            in.readFully(code);
            classes.put(name, code);
        }
        return new ByteArrayClassLoader(classes, new ParentClassLoader(Utils$.MODULE$.getContextOrSparkClassLoader()));
    }

    private void write(Path file, ByteCodeStats sizes, Map classes) throws IOException {
        ByteArrayOutputStream kept = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(kept);
        out.writeInt(sizes.maxMethodCodeSize());
        out.writeInt(sizes.maxConstPoolSize());
        out.writeInt(sizes.numInnerClasses());
        out.writeInt(classes.size());
        Iterator all = classes.entrySet().iterator();
        while (all.hasNext()) {
            Map.Entry each = (Map.Entry) all.next();
            byte[] code = (byte[]) each.getValue();
            out.writeUTF((String) each.getKey());
            out.writeInt(code.length);
            out.write(code);
        }
        replace(file, hash(kept.toByteArray()), kept.toByteArray());
    }

    private void replace(Path file, byte[] hash, byte[] kept) throws IOException {
        Files.createDirectories(folder, new FileAttribute[0]);
        Path draft = Files.createTempFile(folder, "code", ".tmp", new FileAttribute[0]);
        byte[] content = Arrays.copyOf(hash, HASH + kept.length);
        System.arraycopy(kept, 0, content, HASH, kept.length);
        Files.write(draft, content);
        Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
    }

    private static byte[] hash(byte[] found) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(found);
        } catch (Exception impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static String hex(byte[] found) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < found.length; i++) {
            text.append(Integer.toHexString(0x100 | (found[i] & 0xff)).substring(1));
        }
        return text.toString();
    }

    private static Object member(Object owner, String name) throws Exception {
        return field(owner.getClass(), name).get(owner);
    }

    private static Field field(Class type, String name) throws NoSuchFieldException {
        for (Class each = type; each != null; each = each.getSuperclass()) {
            Field[] fields = each.getDeclaredFields();
            for (int i = 0; i < fields.length; i++) {
                if (fields[i].getName().equals(name)) {
                    fields[i].setAccessible(true);
                    return fields[i];
                }
            }
        }
        throw new NoSuchFieldException(name);
    }
}
