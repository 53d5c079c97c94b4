// A program on the types that openapi-typescript makes: node example.js URL KEY FILE.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const [url, key, file] = process.argv.slice(2) as [string, string, string];
const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } });

function unwrap<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const app = unwrap(await client.POST("/api/v1/apps", { body: { name: "TypeScript", platform: "Android" } }));
const form = new FormData();
form.set("version", "1.0");
form.set("metadata", '{"branch": "main"}');
form.set("file", new Blob([readFileSync(file)]), basename(file));
const build = unwrap(
  await client.POST("/api/v1/apps/{app_id}/builds", {
    params: { path: { app_id: app.id! } },
    body: { file: "" },
    bodySerializer: () => form,
  }),
);
const steps = ["launchApp", { assertVisible: "Log in" }];
const test = unwrap(await client.POST("/api/v1/tests", { body: { name: "Log in", steps } }));
unwrap(
  await client.PUT("/api/v1/apps/{app_id}/tests/{test_id}", {
    params: { path: { app_id: app.id!, test_id: test.id } },
    body: {},
  }),
);
const workflow = unwrap(
  await client.POST("/api/v1/workflows", { body: { name: "TypeScript", test_ids: [test.id] } }),
);
const started = unwrap(
  await client.POST("/api/v1/execution/api/execute_workflow_id_async", {
    params: { header: { "Idempotency-Key": "typescript" } },
    body: { workflow_id: workflow.id },
  }),
);
const path = { execution_id: started.id };
for (const deadline = Date.now() + 60_000; Date.now() < deadline; ) {
  const execution = unwrap(
    await client.GET("/api/v1/executions/{execution_id}", { params: { path, query: { wait: 10 } } }),
  );
  if (execution.completed_at !== null) {
    console.log(JSON.stringify({ build: build.id, execution: execution.id, passed: execution.counts?.passed }));
    break;
  }
}
