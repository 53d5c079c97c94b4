import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.awt.image.BufferedImage;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import kotlin.coroutines.EmptyCoroutineContext;
import kotlin.jvm.internal.DefaultConstructorMarker;
import kotlinx.coroutines.BuildersKt;
import maestro.DeviceInfo;
import maestro.Driver;
import maestro.KeyCode;
import maestro.Maestro;
import maestro.Point;
import maestro.ScreenRecording;
import maestro.SwipeDirection;
import maestro.TreeNode;
import maestro.device.Platform;
import maestro.orchestra.MaestroCommand;
import maestro.orchestra.Orchestra;
import maestro.orchestra.util.Env;
import maestro.orchestra.yaml.YamlCommandReader;
import maestro.utils.MaestroTimer;
import maestro.utils.ScreenshotUtils;
import okio.BufferedSink;
import okio.Okio;
import okio.Sink;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.Configurator;
import org.w3c.dom.Element;
import org.xml.sax.InputSource;

/**
 * Runs flows in Maestro's own Orchestra on a device that records what it is told to do.
 *
 * <p>Reads a JSON object a line from standard input ({@code id}, {@code flow}: a path, {@code screens}: texts of Android
 * hierarchies, {@code env}, {@code moves}) and writes one a line: {@code id}, {@code verdict} (passed, failed, refused),
 * {@code message}, {@code actions}. The order of the answers is not that of the questions.
 */
public final class Judge {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int THREADS = 48;
    private static final long LOOKUP_MS = 150;
    private static final long FLOW_SECONDS = 100;

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        Configurator.setAllLevels("", Level.OFF);
        MaestroTimer.INSTANCE.setTimerFunc((reason, milliseconds) -> kotlin.Unit.INSTANCE);
        ExecutorService pool = Executors.newFixedThreadPool(THREADS, Judge::daemon);
        List<CountDownLatch> ended = new ArrayList<>();
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = questions.readLine()) != null; ) {
            JsonNode question = JSON.readTree(line);
            CountDownLatch latch = new CountDownLatch(1);
            ended.add(latch);
            pool.execute(() -> {
                try {
                    String answer = JSON.writeValueAsString(answer(question));
                    synchronized (answers) {
                        answers.write((answer + "\n").getBytes(StandardCharsets.UTF_8));
                        answers.flush();
                    }
                } catch (Exception error) {
                    error.printStackTrace();
                } finally {
                    latch.countDown();
                }
            });
        }
        for (CountDownLatch latch : ended) {
            latch.await(2 * FLOW_SECONDS, TimeUnit.SECONDS);
        }
        System.exit(0);
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }

    private static Map<String, Object> answer(JsonNode question) throws Exception {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", question.get("id").asText());
        RecordingDevice device = new RecordingDevice(question);
        List<MaestroCommand> commands;
        try {
            commands = read(question);
        } catch (Throwable error) {
            return complete(answer, "refused", error, device);
        }
        List<Object> outcome = new ArrayList<>();
        Thread run = daemon(() -> {
            try {
                outcome.add(run(device, commands));
            } catch (Throwable error) {
                outcome.add(error);
            }
        });
        run.start();
        run.join(FLOW_SECONDS * 1000);
        if (outcome.isEmpty()) {
            run.interrupt();
            return complete(answer, "unfinished", null, device);
        }
        Object end = outcome.get(0);
        String verdict = Boolean.TRUE.equals(end) ? "passed" : "failed";
        return complete(answer, verdict, end instanceof Throwable error ? error : null, device);
    }

    private static Map<String, Object> complete(
            Map<String, Object> answer, String verdict, Throwable error, RecordingDevice device) {
        answer.put("verdict", verdict);
        answer.put("message", error == null ? "" : error.getClass().getSimpleName() + ": " + error.getMessage());
        answer.put("actions", device.actions());
        return answer;
    }

    private static List<MaestroCommand> read(JsonNode question) {
        Path flow = Path.of(question.get("flow").asText());
        Map<String, String> env = new LinkedHashMap<>();
        question.path("env").fields().forEachRemaining(entry -> env.put(entry.getKey(), entry.getValue().asText()));
        Map<String, String> all = Env.INSTANCE.withDefaultEnvVars(env, flow.toFile(), "judge", null);
        return Env.INSTANCE.withEnv(YamlCommandReader.INSTANCE.readCommands(flow), all);
    }

    private static boolean run(RecordingDevice device, List<MaestroCommand> commands) throws Exception {
        Orchestra orchestra = orchestra(new Maestro(device.driver));
        Orchestra.FlowResult result = (Orchestra.FlowResult) BuildersKt.runBlocking(
                EmptyCoroutineContext.INSTANCE, (scope, continuation) -> orchestra.runFlow(commands, continuation));
        return result.getSuccess();
    }

    /** With the two timeouts, and Kotlin's defaults of all other parameters, which Java can name in no other way. */
    private static Orchestra orchestra(Maestro maestro) throws ReflectiveOperationException {
        Constructor<?> constructor = Arrays.stream(Orchestra.class.getDeclaredConstructors())
                .filter(each -> Arrays.asList(each.getParameterTypes()).contains(DefaultConstructorMarker.class))
                .findFirst().orElseThrow();
        Class<?>[] types = constructor.getParameterTypes();
        Object[] values = new Object[types.length];
        int defaults = 0;
        long[] timeouts = {LOOKUP_MS, LOOKUP_MS};
        int timeout = 0;
        for (int at = 0; at < types.length - 2; at++) {
            if (types[at] == Maestro.class) {
                values[at] = maestro;
            } else if (types[at] == long.class) {
                values[at] = timeouts[timeout++];
            } else {
                values[at] = types[at] == boolean.class ? Boolean.FALSE : null;
                defaults |= 1 << at;
            }
        }
        values[types.length - 2] = defaults;
        return (Orchestra) constructor.newInstance(values);
    }

    /** A device with scripted screens. It is a proxy because a method of Driver has a name that Java cannot spell. */
    private static final class RecordingDevice implements InvocationHandler {
        private static final Map<String, byte[]> PICTURES = Collections.synchronizedMap(new HashMap<>());

        final Driver driver;
        private final List<List<Object>> recorded = Collections.synchronizedList(new ArrayList<>());
        private final List<TreeNode> screens = new ArrayList<>();
        private final int pixels;
        private final int readings;
        private int width = 540;
        private int height = 960;
        private int shown;
        private int offset;
        private int left;
        private boolean airplane;
        private boolean dark;

        RecordingDevice(JsonNode question) throws Exception {
            for (JsonNode text : question.path("screens")) {
                screens.add(screen(text.asText()));
            }
            if (screens.isEmpty()) {
                screens.add(new TreeNode());
            }
            pixels = question.path("moves").path("pixels").asInt(0);
            readings = question.path("moves").path("readings").asInt(0);
            driver = (Driver) Proxy.newProxyInstance(Driver.class.getClassLoader(), new Class<?>[] {Driver.class}, this);
        }

        List<List<Object>> actions() {
            synchronized (recorded) {
                return List.copyOf(recorded);
            }
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] given) throws Throwable {
            String name = method.getName();
            if (name.startsWith("waitForAppToSettle")) {
                return settle(given);
            }
            switch (name) {
                case "name":
                    return "judge";
                case "deviceInfo":
                    return new DeviceInfo(Platform.ANDROID, width, height, width, height);
                case "contentDescriptor":
                    return look();
                case "waitUntilScreenIsStatic":
                    return true;
                case "takeScreenshot":
                    picture((Sink) given[0]);
                    return null;
                case "isAirplaneModeEnabled":
                    return airplane;
                case "isDarkModeEnabled":
                    return dark;
                case "isKeyboardVisible", "isShutdown":
                    return false;
                case "capabilities", "queryOnDeviceElements", "stopAndCollectDeviceLogs", "collectCrashArtifacts":
                    return List.of();
                case "open", "close", "setAndroidChromeDevToolsEnabled", "startDeviceLogCapture":
                    return null;
                case "hashCode":
                    return System.identityHashCode(proxy);
                case "equals":
                    return proxy == given[0];
                case "toString":
                    return "judge";
                default:
                    return act(name, given);
            }
        }

        private Object act(String name, Object[] given) {
            switch (name) {
                case "launchApp" -> record("launch", given[0], given[1]);
                case "stopApp" -> record("stop", given[0]);
                case "killApp" -> record("kill", given[0]);
                case "clearAppState" -> record("clear state", given[0]);
                case "clearKeychain" -> record("clear keychain");
                case "setPermissions" -> record("permissions", given[0], given[1]);
                case "tap" -> touch("tap", (Point) given[0]);
                case "longPress" -> touch("long press", (Point) given[0]);
                case "pressKey" -> advance("key", ((KeyCode) given[0]).getDescription());
                case "backPress" -> advance("back");
                case "inputText" -> advance("type", given[0]);
                case "eraseText" -> advance("erase", given[0]);
                case "scrollVertical" -> swipe(SwipeDirection.UP, 400);
                case "swipe" -> swipe(given);
                case "openLink" -> advance("link", given[0], given[2], given[3]);
                case "hideKeyboard" -> record("hide keyboard");
                case "setLocation" -> record("location", given[0], given[1]);
                case "setOrientation" -> record("orientation", String.valueOf(given[0]));
                case "setAirplaneMode" -> record("airplane mode", airplane = (Boolean) given[0]);
                case "setDarkMode" -> record("dark mode", dark = (Boolean) given[0]);
                case "addMedia" -> ((List<?>) given[0]).forEach(file -> record("media", ((File) file).getName()));
                case "startScreenRecording" -> {
                    record("start recording");
                    return (ScreenRecording) () -> record("stop recording");
                }
                default -> throw new UnsupportedOperationException("the recording device has no " + name);
            }
            return null;
        }

        private void record(Object... action) {
            recorded.add(Arrays.asList(action));
        }

        /** Records an action after which the next screen is shown. */
        private void advance(Object... action) {
            record(action);
            shown = Math.min(shown + 1, screens.size() - 1);
        }

        /** A touch arrives when the list is at rest. */
        private void touch(String name, Point at) {
            while (left > 0) {
                left--;
                offset += pixels;
            }
            advance(name, at.getX(), at.getY());
        }

        private void swipe(Object[] given) {
            if (given[0] instanceof SwipeDirection direction) {
                swipe(direction, (Long) given[1]);
            } else if (given[1] instanceof Point end) {
                swipe((Point) given[0], end, (Long) given[2]);
            } else {
                Point start = (Point) given[0];
                Point end = switch ((SwipeDirection) given[1]) {
                    case UP -> new Point(start.getX(), (int) (height * 0.1f));
                    case DOWN -> new Point(start.getX(), (int) (height * 0.9f));
                    case LEFT -> new Point((int) (width * 0.1f), start.getY());
                    case RIGHT -> new Point((int) (width * 0.9f), start.getY());
                };
                swipe(start, end, (Long) given[2]);
            }
        }

        /** Where Maestro's driver of Android swipes in a direction. */
        private void swipe(SwipeDirection direction, long milliseconds) {
            float[] path = switch (direction) {
                case UP -> new float[] {0.5f, 0.5f, 0.5f, 0.1f};
                case DOWN -> new float[] {0.5f, 0.2f, 0.5f, 0.9f};
                case LEFT -> new float[] {0.9f, 0.5f, 0.1f, 0.5f};
                case RIGHT -> new float[] {0.1f, 0.5f, 0.9f, 0.5f};
            };
            Point start = new Point((int) (width * path[0]), (int) (height * path[1]));
            swipe(start, new Point((int) (width * path[2]), (int) (height * path[3])), milliseconds);
        }

        private void swipe(Point start, Point end, long milliseconds) {
            left = readings;
            advance("swipe", start.getX(), start.getY(), end.getX(), end.getY(), milliseconds);
        }

        private TreeNode look() throws InterruptedException {
            Thread.sleep(2);
            if (left > 0) {
                left--;
                offset += pixels;
            }
            TreeNode screen = screens.get(shown);
            return offset == 0 ? screen : moved(screen);
        }

        private TreeNode moved(TreeNode node) {
            Map<String, String> attributes = new LinkedHashMap<>(node.getAttributes());
            attributes.computeIfPresent("bounds", (name, bounds) -> moved(bounds));
            List<TreeNode> children = node.getChildren().stream().map(this::moved).toList();
            return node(attributes, children);
        }

        private String moved(String bounds) {
            String[] parts = bounds.substring(1, bounds.length() - 1).split("]\\[|,");
            int top = Integer.parseInt(parts[1]) + offset;
            int bottom = Integer.parseInt(parts[3]) + offset;
            return "[" + parts[0] + "," + top + "][" + parts[2] + "," + bottom + "]";
        }

        private TreeNode settle(Object[] given) throws Throwable {
            Method method = Arrays.stream(ScreenshotUtils.Companion.getClass().getMethods())
                    .filter(each -> each.getName().startsWith("waitForAppToSettle") && each.getParameterCount() == 3)
                    .findFirst().orElseThrow();
            try {
                return (TreeNode) method.invoke(ScreenshotUtils.Companion, given[0], driver, given[2]);
            } catch (InvocationTargetException error) {
                throw error.getCause();
            }
        }

        private void picture(Sink out) throws Exception {
            byte[] content = PICTURES.computeIfAbsent(width + "x" + height, size -> blank());
            BufferedSink sink = Okio.buffer(out);
            sink.write(content);
            sink.flush();
        }

        private byte[] blank() {
            try {
                ByteArrayOutputStream content = new ByteArrayOutputStream();
                ImageIO.write(new BufferedImage(width, height, BufferedImage.TYPE_INT_RGB), "png", content);
                return content.toByteArray();
            } catch (java.io.IOException error) {
                throw new java.io.UncheckedIOException(error);
            }
        }

        private TreeNode screen(String text) throws Exception {
            Element root = DocumentBuilderFactory.newInstance().newDocumentBuilder()
                    .parse(new InputSource(new StringReader(text))).getDocumentElement();
            if (root.hasAttribute("width")) {
                width = Integer.parseInt(root.getAttribute("width"));
                height = Integer.parseInt(root.getAttribute("height"));
            }
            return read(root);
        }

        private static final Map<String, String> NAMES = Map.of(
                "content-desc", "accessibilityText", "hint", "hintText");

        /** An element as Maestro's driver of Android reads it: without a clickable etc. it is false. */
        private TreeNode read(Element element) {
            Map<String, String> attributes = new LinkedHashMap<>();
            for (int at = 0; at < element.getAttributes().getLength(); at++) {
                String name = element.getAttributes().item(at).getNodeName();
                attributes.put(NAMES.getOrDefault(name, name), element.getAttributes().item(at).getNodeValue());
            }
            List<TreeNode> children = new ArrayList<>();
            for (int at = 0; at < element.getChildNodes().getLength(); at++) {
                if (element.getChildNodes().item(at) instanceof Element child) {
                    children.add(read(child));
                }
            }
            return node(attributes, children);
        }

        private static TreeNode node(Map<String, String> attributes, List<TreeNode> children) {
            return new TreeNode(attributes, children,
                    is(attributes, "clickable"), is(attributes, "enabled"), is(attributes, "focused"),
                    is(attributes, "checked"), is(attributes, "selected"));
        }

        private static boolean is(Map<String, String> attributes, String name) {
            return "true".equals(attributes.get(name));
        }
    }
}
