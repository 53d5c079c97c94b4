// The HTTP/JSON front of the Go peer: grpc-gateway, and keys that are checked by the service and cached.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"

	"mobiletest/peer/apps"
)

const keySeconds = 30 * time.Second

type organisation struct{}

type knownKey struct {
	orgID string
	until time.Time
}

// keyCheck finds the organisation of a request's key.
type keyCheck struct {
	service apps.AppsClient
	known   sync.Map
}

func (check *keyCheck) organisation(ctx context.Context, key string) (string, error) {
	sum := sha256.Sum256([]byte(key))
	digest := hex.EncodeToString(sum[:])
	if found, ok := check.known.Load(digest); ok && found.(knownKey).until.After(time.Now()) {
		return found.(knownKey).orgID, nil
	}
	answer, err := check.service.CheckKey(ctx, &apps.CheckKeyRequest{Digest: digest})
	if err != nil {
		return "", err
	}
	check.known.Store(digest, knownKey{answer.OrgId, time.Now().Add(keySeconds)})
	return answer.OrgId, nil
}

// guard lets requests with a valid key through, with their organisation in the context.
func (check *keyCheck) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		key := strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")
		orgID, err := check.organisation(request.Context(), key)
		if err != nil {
			http.Error(writer, "invalid API key", http.StatusUnauthorized)
			return
		}
		request.URL.Path = strings.TrimSuffix(request.URL.Path, "/")
		next.ServeHTTP(writer, request.WithContext(context.WithValue(request.Context(), organisation{}, orgID)))
	})
}

func withOrganisation(_ context.Context, request *http.Request) metadata.MD {
	orgID, _ := request.Context().Value(organisation{}).(string)
	return metadata.Pairs("org-id", orgID)
}

func main() {
	connection, err := grpc.NewClient(os.Getenv("PEER_SERVICE"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	mux := runtime.NewServeMux(
		runtime.WithMetadata(withOrganisation),
		runtime.WithWriteContentLength(),
		runtime.WithMarshalerOption(runtime.MIMEWildcard, &runtime.JSONPb{
			MarshalOptions: protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true},
		}),
	)
	if err := apps.RegisterAppsHandler(context.Background(), mux, connection); err != nil {
		log.Fatal(err)
	}
	check := &keyCheck{service: apps.NewAppsClient(connection)}
	log.Fatal(http.ListenAndServe(os.Getenv("PEER_LISTEN"), check.guard(mux)))
}
