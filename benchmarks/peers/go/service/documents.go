package main

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"mobiletest/peer/apps"
)

type appDocument struct {
	ID             string    `bson:"_id"`
	OrgID          string    `bson:"org_id"`
	Name           string    `bson:"name"`
	Platform       string    `bson:"platform"`
	StaticURL      *string   `bson:"static_url"`
	CurrentVersion *string   `bson:"current_version"`
	Description    *string   `bson:"description"`
	SystemPrompt   *string   `bson:"system_prompt"`
	CreatedAt      time.Time `bson:"created_at"`
	LatestVersion  *string   `bson:"latest_version"`
	VersionsCount  int32     `bson:"versions_count"`
	LatestBuildID  *string   `bson:"latest_build_id"`
	CurrentBuildID *string   `bson:"current_build_id"`
	AttachedTests  int32     `bson:"attached_tests"`
	PinnedTests    int32     `bson:"pinned_tests"`
}

type statsDocument struct {
	ID     string `bson:"_id"`
	Fields struct {
		RecentExecutions *int32   `bson:"recent_executions"`
		RollingPassRate  *float64 `bson:"rolling_pass_rate"`
		AttributionReady *bool    `bson:"attribution_ready"`
	} `bson:"fields"`
}

type countsDocument struct {
	Total   int32 `bson:"total"`
	IOS     int32 `bson:"ios"`
	Android int32 `bson:"android"`
}

func (document *appDocument) message(stats statsDocument) *apps.App {
	return &apps.App{
		Id: &document.ID, OrgId: &document.OrgID, Name: &document.Name, Platform: &document.Platform,
		StaticUrl: document.StaticURL, CurrentVersion: document.CurrentVersion,
		Description: document.Description, SystemPrompt: document.SystemPrompt,
		CreatedAt:     timestamppb.New(document.CreatedAt),
		LatestVersion: document.LatestVersion, VersionsCount: &document.VersionsCount,
		LatestBuildId: document.LatestBuildID, CurrentBuildId: document.CurrentBuildID,
		AttachedTests: &document.AttachedTests, PinnedTests: &document.PinnedTests,
		RecentExecutions: stats.Fields.RecentExecutions, RollingPassRate: stats.Fields.RollingPassRate,
		AttributionReady: stats.Fields.AttributionReady,
	}
}
