// The gRPC service of the Go peer: reads apps, stats, counts and keys from MongoDB.
package main

import (
	"context"
	"errors"
	"log"
	"net"
	"os"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"mobiletest/peer/apps"
)

type service struct {
	apps.UnimplementedAppsServer
	db *mongo.Database
}

func (service *service) CheckKey(ctx context.Context, request *apps.CheckKeyRequest) (*apps.CheckKeyResponse, error) {
	var key struct {
		OrgID string `bson:"org_id"`
	}
	err := service.db.Collection("keys").FindOne(ctx, bson.D{{Key: "_id", Value: request.Digest}}).Decode(&key)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, status.Error(codes.Unauthenticated, "invalid API key")
	}
	return &apps.CheckKeyResponse{OrgId: key.OrgID}, err
}

func (service *service) GetApp(ctx context.Context, request *apps.GetAppRequest) (*apps.App, error) {
	filter := bson.D{{Key: "_id", Value: request.AppId}, {Key: "org_id", Value: organisation(ctx)}}
	var found appDocument
	err := service.db.Collection("apps").FindOne(ctx, filter).Decode(&found)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, status.Error(codes.NotFound, "app not found")
	}
	if err != nil {
		return nil, err
	}
	var stats statsDocument
	err = service.db.Collection("stats").FindOne(ctx, filter).Decode(&stats)
	if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		return nil, err
	}
	return found.message(stats), nil
}

func (service *service) ListApps(ctx context.Context, request *apps.ListAppsRequest) (*apps.ListAppsResponse, error) {
	page, size, orgID := int32(1), int32(50), organisation(ctx)
	if request.Page != nil {
		page = *request.Page
	}
	if request.PageSize != nil {
		size = *request.PageSize
	}
	if page < 1 || size < 1 || size > 500 {
		return nil, status.Error(codes.InvalidArgument, "page or page_size is out of bounds")
	}
	found, err := service.page(ctx, orgID, page, size)
	if err != nil {
		return nil, err
	}
	stats, err := service.stats(ctx, orgID, found)
	if err != nil {
		return nil, err
	}
	var counts countsDocument
	if err := service.db.Collection("counts").FindOne(ctx, bson.D{{Key: "_id", Value: orgID}}).Decode(&counts); err != nil {
		return nil, err
	}
	pages := (counts.Total + size - 1) / size
	items := make([]*apps.App, len(found))
	for index := range found {
		items[index] = found[index].message(stats[found[index].ID])
	}
	return &apps.ListAppsResponse{
		Total: counts.Total, Page: page, PageSize: size, TotalPages: pages,
		HasNext: page < pages, HasPrevious: page > 1, Items: items,
		PlatformCounts: &apps.PlatformCounts{Total: counts.Total, Ios: counts.IOS, Android: counts.Android},
	}, nil
}

func (service *service) page(ctx context.Context, orgID string, page, size int32) ([]appDocument, error) {
	newestFirst := bson.D{{Key: "created_at", Value: -1}, {Key: "_id", Value: -1}}
	bounds := options.Find().SetSort(newestFirst).SetSkip(int64(page-1) * int64(size)).SetLimit(int64(size))
	cursor, err := service.db.Collection("apps").Find(ctx, bson.D{{Key: "org_id", Value: orgID}}, bounds)
	if err != nil {
		return nil, err
	}
	var found []appDocument
	return found, cursor.All(ctx, &found)
}

func (service *service) stats(ctx context.Context, orgID string, found []appDocument) (map[string]statsDocument, error) {
	ids := make([]string, len(found))
	for index := range found {
		ids[index] = found[index].ID
	}
	filter := bson.D{{Key: "org_id", Value: orgID}, {Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}
	cursor, err := service.db.Collection("stats").Find(ctx, filter)
	if err != nil {
		return nil, err
	}
	var documents []statsDocument
	if err := cursor.All(ctx, &documents); err != nil {
		return nil, err
	}
	stats := make(map[string]statsDocument, len(documents))
	for _, document := range documents {
		stats[document.ID] = document
	}
	return stats, nil
}

// organisation is who the gateway calls for.
func organisation(ctx context.Context) string {
	values := metadata.ValueFromIncomingContext(ctx, "org-id")
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

func main() {
	client, err := mongo.Connect(options.Client().ApplyURI(os.Getenv("PEER_MONGO_URI")))
	if err != nil {
		log.Fatal(err)
	}
	majority := options.Database().SetReadConcern(readconcern.Majority())
	server := grpc.NewServer()
	apps.RegisterAppsServer(server, &service{db: client.Database(os.Getenv("PEER_DATABASE"), majority)})
	listener, err := net.Listen("tcp", os.Getenv("PEER_LISTEN"))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(server.Serve(listener))
}
