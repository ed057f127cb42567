import java.io.IOException;
import java.net.URL;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;

/**
 * Finds what its parent finds, but for the extensions of sessions that Spark's machine learning announces.
 *
 * Those are two functions over vectors. To register them, Scala reads the signatures of all classes they touch.
 */
public class SessionLoader extends ClassLoader {
    private static final String ANNOUNCED = "META-INF/services/org.apache.spark.sql.SparkSessionExtensionsProvider";

    public SessionLoader(Object parent) {
        super((ClassLoader) parent);
    }

    public Enumeration getResources(String name) throws IOException {
        Enumeration found = super.getResources(name);
        if (!name.equals(ANNOUNCED)) {
            return found;
        }
        List others = new ArrayList();
        while (found.hasMoreElements()) {
            URL url = (URL) found.nextElement();
            if (!url.getPath().contains("/spark-mllib_")) {
                others.add(url);
            }
        }
        return Collections.enumeration(others);
    }
}
