package serve

import (
	"time"

	"pfsensemcp/pkg/rpc"
	executorpb "pfsensemcp/proto/executor/v1"
)

// Bounds of the calls. A signed file has at most 16 KiB, with room for its frame;
// the rest are names, numbers and digests.
const (
	artifactBytes = 17 << 10
	smallBytes    = 1 << 10
	requestBytes  = 8 << 10 // an alias name and 4,096 bytes of text

	frontTime  = 15 * time.Second
	adminTime  = 2 * time.Minute
	streamTime = 15 * time.Minute // a backup over a slow disk
)

// FrontMethods has a row for every call of the Front service: mcpd alone.
func FrontMethods() []rpc.Method {
	row := func(full string, bytes int) rpc.Method {
		return rpc.Method{Full: full, Callers: rpc.Mcpd, MaxRequest: bytes, MaxDuration: frontTime}
	}
	return []rpc.Method{
		row(executorpb.Front_GetWriteStatus_FullMethodName, 0),
		row(executorpb.Front_RequestAliasDescription_FullMethodName, requestBytes),
		row(executorpb.Front_SubmitArtifact_FullMethodName, artifactBytes),
	}
}

// AdminMethods has a row for every call of the Admin service: operators alone.
func AdminMethods() []rpc.Method {
	row := func(full string, bytes int) rpc.Method {
		return rpc.Method{Full: full, Callers: rpc.Operators, MaxRequest: bytes, MaxDuration: adminTime}
	}
	// A long one does not run twice at a time.
	stream := func(full string) rpc.Method {
		return rpc.Method{Full: full, Callers: rpc.Operators, MaxRequest: smallBytes, MaxDuration: streamTime, Once: true}
	}
	return []rpc.Method{
		row(executorpb.Admin_ListRequests_FullMethodName, smallBytes),
		row(executorpb.Admin_ListContracts_FullMethodName, smallBytes),
		row(executorpb.Admin_GetContract_FullMethodName, smallBytes),
		row(executorpb.Admin_GetPreview_FullMethodName, smallBytes),
		row(executorpb.Admin_SubmitAuthorization_FullMethodName, artifactBytes),
		row(executorpb.Admin_GetPending_FullMethodName, smallBytes),
		row(executorpb.Admin_SubmitConfirmation_FullMethodName, artifactBytes),
		row(executorpb.Admin_ResumeExecution_FullMethodName, smallBytes),
		row(executorpb.Admin_Cancel_FullMethodName, smallBytes),
		row(executorpb.Admin_Observe_FullMethodName, smallBytes),
		row(executorpb.Admin_SubmitReconciliation_FullMethodName, artifactBytes),
		row(executorpb.Admin_GetRollbackRequest_FullMethodName, smallBytes),
		row(executorpb.Admin_SubmitRollback_FullMethodName, 2*artifactBytes),
		row(executorpb.Admin_SubmitRelease_FullMethodName, artifactBytes),
		row(executorpb.Admin_Discover_FullMethodName, 0),
		row(executorpb.Admin_Plan_FullMethodName, smallBytes),
		row(executorpb.Admin_Doctor_FullMethodName, 0),
		row(executorpb.Admin_AuditShow_FullMethodName, smallBytes),
		row(executorpb.Admin_AuditVerify_FullMethodName, smallBytes),
		stream(executorpb.Admin_AuditExport_FullMethodName),
		row(executorpb.Admin_AnchorStatus_FullMethodName, 0),
		row(executorpb.Admin_AnchorPlan_FullMethodName, 0),
		row(executorpb.Admin_AnchorProvision_FullMethodName, smallBytes),
		row(executorpb.Admin_AnchorSeed_FullMethodName, smallBytes),
		row(executorpb.Admin_SubmitRebaseline_FullMethodName, artifactBytes),
		row(executorpb.Admin_AnchorFile_FullMethodName, 0),
		row(executorpb.Admin_GetPins_FullMethodName, 0),
		row(executorpb.Admin_RotateKeys_FullMethodName, smallBytes),
		stream(executorpb.Admin_Backup_FullMethodName),
		row(executorpb.Admin_KeyChallenge_FullMethodName, smallBytes),
	}
}
