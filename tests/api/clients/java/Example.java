import java.io.File;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.AppsApi;
import org.openapitools.client.api.BuildsApi;
import org.openapitools.client.api.ExecutionsApi;
import org.openapitools.client.api.TestsApi;
import org.openapitools.client.api.WorkflowsApi;
import org.openapitools.client.model.AttachTestRequest;
import org.openapitools.client.model.CreateAppRequest;
import org.openapitools.client.model.CreateTestRequest;
import org.openapitools.client.model.CreateWorkflowRequest;
import org.openapitools.client.model.StartWorkflowRequest;

/** A program on the client that openapi-generator makes for Java: Example URL KEY FILE. */
public final class Example {
    public static void main(String[] arguments) throws Exception {
        var client = new ApiClient();
        client.updateBaseUri(arguments[0]);
        client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + arguments[1]));

        var newApp = new CreateAppRequest().name("Java").platform(CreateAppRequest.PlatformEnum.ANDROID);
        var app = new AppsApi(client).createApp(newApp, null, null, null, null);
        var file = new File(arguments[2]);
        var build = new BuildsApi(client)
                .createBuild(app.getId(), file, null, null, null, null, "1.0", "{\"branch\": \"main\"}", null, null);
        List<Object> steps = List.of("launchApp", Map.of("assertVisible", "Log in"));
        var newTest = new CreateTestRequest().name("Log in").steps(steps);
        var test = new TestsApi(client).createTest(null, null, null, null, newTest);
        new TestsApi(client).attachTest(app.getId(), test.getId(), null, null, null, new AttachTestRequest());
        var newWorkflow = new CreateWorkflowRequest().name("Java").addTestIdsItem(test.getId());
        var workflow = new WorkflowsApi(client).createWorkflow(newWorkflow, null, null, null, null);

        var executions = new ExecutionsApi(client);
        var request = new StartWorkflowRequest().workflowId(workflow.getId());
        var started = executions.startWorkflow(
                request, null, null, null, null, null, null, null, null, null, null, null, null, "java");
        var execution = executions.getExecution(started.getId(), 10, null, null, null, null, null);
        for (long deadline = System.nanoTime() + 60_000_000_000L;
                execution.getCompletedAt() == null && System.nanoTime() < deadline; ) {
            execution = executions.getExecution(started.getId(), 10, null, null, null, null, null);
        }
        System.out.printf("{\"build\": \"%s\", \"execution\": \"%s\", \"passed\": %d}%n",
                build.getId(), execution.getId(), execution.getCounts().getPassed());
    }
}
