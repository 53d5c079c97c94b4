// A program on the client that oapi-codegen makes: example URL KEY FILE.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
)

func main() {
	url, key, file := os.Args[1], os.Args[2], os.Args[3]
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
	client, err := NewClientWithResponses(url, WithRequestEditorFn(authorize))
	check(err)

	app, err := client.CreateAppWithResponse(ctx, nil, CreateAppRequest{Name: "Go", Platform: "Android"})
	check(err)
	expect(app.JSON200 != nil, app.Body)
	form, contentType := upload(file)
	build, err := client.CreateBuildWithBodyWithResponse(ctx, *app.JSON200.Id, nil, contentType, form)
	check(err)
	expect(build.JSON201 != nil, build.Body)
	steps := []any{"launchApp", map[string]any{"assertVisible": "Log in"}}
	test, err := client.CreateTestWithResponse(ctx, nil, CreateTestRequest{Name: ptr("Log in"), Steps: &steps})
	check(err)
	expect(test.JSON201 != nil, test.Body)
	attached, err := client.AttachTestWithResponse(ctx, *app.JSON200.Id, test.JSON201.Id, nil, AttachTestRequest{})
	check(err)
	expect(attached.JSON200 != nil, attached.Body)
	tests := []uuid.UUID{test.JSON201.Id}
	workflow, err := client.CreateWorkflowWithResponse(ctx, nil, CreateWorkflowRequest{Name: "Go", TestIds: &tests})
	check(err)
	expect(workflow.JSON201 != nil, workflow.Body)
	params := StartWorkflowParams{IdempotencyKey: ptr("go")}
	started, err := client.StartWorkflowWithResponse(ctx, &params, StartWorkflowRequest{WorkflowId: workflow.JSON201.Id})
	check(err)
	expect(started.JSON200 != nil, started.Body)
	for {
		answer, err := client.GetExecutionWithResponse(ctx, started.JSON200.Id, &GetExecutionParams{Wait: ptr(int32(10))})
		check(err)
		expect(answer.JSON200 != nil, answer.Body)
		if execution := answer.JSON200; execution.CompletedAt != nil {
			result := map[string]any{"build": build.JSON201.Id, "execution": execution.Id, "passed": execution.Counts.Passed}
			check(json.NewEncoder(os.Stdout).Encode(result))
			return
		}
	}
}

func upload(path string) (io.Reader, string) {
	content, err := os.ReadFile(path)
	check(err)
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	check(writer.WriteField("version", "1.0"))
	check(writer.WriteField("metadata", `{"branch": "main"}`))
	part, err := writer.CreateFormFile("file", filepath.Base(path))
	check(err)
	_, err = part.Write(content)
	check(err)
	check(writer.Close())
	return &form, writer.FormDataContentType()
}

func ptr[T any](value T) *T { return &value }

func expect(ok bool, answer []byte) {
	if !ok {
		log.Fatal(fmt.Sprintf("unexpected answer: %s", answer))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
