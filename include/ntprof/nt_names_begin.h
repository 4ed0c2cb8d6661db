/* SPDX-License-Identifier: MIT */
/*
 * nt_names_begin.h - with NTPROF_PREFIXED, NT's names get the prefix ntprof_ from here
 * to nt_names_end.h; without it, nothing. For the other headers: see ntprof.h.
 *
 * Included many times, so without a guard. Both files contain the same names in the
 * same order.
 */
#ifdef NTPROF_PREFIXED

#pragma push_macro("UCHAR")
#undef UCHAR
#define UCHAR ntprof_UCHAR
#pragma push_macro("BOOLEAN")
#undef BOOLEAN
#define BOOLEAN ntprof_BOOLEAN
#pragma push_macro("SHORT")
#undef SHORT
#define SHORT ntprof_SHORT
#pragma push_macro("USHORT")
#undef USHORT
#define USHORT ntprof_USHORT
#pragma push_macro("LONG")
#undef LONG
#define LONG ntprof_LONG
#pragma push_macro("ULONG")
#undef ULONG
#define ULONG ntprof_ULONG
#pragma push_macro("LONG64")
#undef LONG64
#define LONG64 ntprof_LONG64
#pragma push_macro("ULONG64")
#undef ULONG64
#define ULONG64 ntprof_ULONG64
#pragma push_macro("LONG_PTR")
#undef LONG_PTR
#define LONG_PTR ntprof_LONG_PTR
#pragma push_macro("ULONG_PTR")
#undef ULONG_PTR
#define ULONG_PTR ntprof_ULONG_PTR
#pragma push_macro("SIZE_T")
#undef SIZE_T
#define SIZE_T ntprof_SIZE_T
#pragma push_macro("PVOID")
#undef PVOID
#define PVOID ntprof_PVOID
#pragma push_macro("HANDLE")
#undef HANDLE
#define HANDLE ntprof_HANDLE
#pragma push_macro("NTSTATUS")
#undef NTSTATUS
#define NTSTATUS ntprof_NTSTATUS
#pragma push_macro("ACCESS_MASK")
#undef ACCESS_MASK
#define ACCESS_MASK ntprof_ACCESS_MASK
#pragma push_macro("KAFFINITY")
#undef KAFFINITY
#define KAFFINITY ntprof_KAFFINITY
#pragma push_macro("_GROUP_AFFINITY")
#undef _GROUP_AFFINITY
#define _GROUP_AFFINITY ntprof__GROUP_AFFINITY
#pragma push_macro("GROUP_AFFINITY")
#undef GROUP_AFFINITY
#define GROUP_AFFINITY ntprof_GROUP_AFFINITY
#pragma push_macro("_CLIENT_ID")
#undef _CLIENT_ID
#define _CLIENT_ID ntprof__CLIENT_ID
#pragma push_macro("CLIENT_ID")
#undef CLIENT_ID
#define CLIENT_ID ntprof_CLIENT_ID
#pragma push_macro("_OBJECT_ATTRIBUTES")
#undef _OBJECT_ATTRIBUTES
#define _OBJECT_ATTRIBUTES ntprof__OBJECT_ATTRIBUTES
#pragma push_macro("OBJECT_ATTRIBUTES")
#undef OBJECT_ATTRIBUTES
#define OBJECT_ATTRIBUTES ntprof_OBJECT_ATTRIBUTES
#pragma push_macro("_UNICODE_STRING")
#undef _UNICODE_STRING
#define _UNICODE_STRING ntprof__UNICODE_STRING
#pragma push_macro("UNICODE_STRING")
#undef UNICODE_STRING
#define UNICODE_STRING ntprof_UNICODE_STRING
#pragma push_macro("_GENERIC_MAPPING")
#undef _GENERIC_MAPPING
#define _GENERIC_MAPPING ntprof__GENERIC_MAPPING
#pragma push_macro("GENERIC_MAPPING")
#undef GENERIC_MAPPING
#define GENERIC_MAPPING ntprof_GENERIC_MAPPING
#pragma push_macro("KPROFILE_SOURCE")
#undef KPROFILE_SOURCE
#define KPROFILE_SOURCE ntprof_KPROFILE_SOURCE
#pragma push_macro("ProfileTime")
#undef ProfileTime
#define ProfileTime ntprof_ProfileTime
#pragma push_macro("ProfileAlignmentFixup")
#undef ProfileAlignmentFixup
#define ProfileAlignmentFixup ntprof_ProfileAlignmentFixup
#pragma push_macro("ProfileTotalIssues")
#undef ProfileTotalIssues
#define ProfileTotalIssues ntprof_ProfileTotalIssues
#pragma push_macro("ProfilePipelineDry")
#undef ProfilePipelineDry
#define ProfilePipelineDry ntprof_ProfilePipelineDry
#pragma push_macro("ProfileLoadInstructions")
#undef ProfileLoadInstructions
#define ProfileLoadInstructions ntprof_ProfileLoadInstructions
#pragma push_macro("ProfilePipelineFrozen")
#undef ProfilePipelineFrozen
#define ProfilePipelineFrozen ntprof_ProfilePipelineFrozen
#pragma push_macro("ProfileBranchInstructions")
#undef ProfileBranchInstructions
#define ProfileBranchInstructions ntprof_ProfileBranchInstructions
#pragma push_macro("ProfileTotalNonissues")
#undef ProfileTotalNonissues
#define ProfileTotalNonissues ntprof_ProfileTotalNonissues
#pragma push_macro("ProfileDcacheMisses")
#undef ProfileDcacheMisses
#define ProfileDcacheMisses ntprof_ProfileDcacheMisses
#pragma push_macro("ProfileIcacheMisses")
#undef ProfileIcacheMisses
#define ProfileIcacheMisses ntprof_ProfileIcacheMisses
#pragma push_macro("ProfileCacheMisses")
#undef ProfileCacheMisses
#define ProfileCacheMisses ntprof_ProfileCacheMisses
#pragma push_macro("ProfileBranchMispredictions")
#undef ProfileBranchMispredictions
#define ProfileBranchMispredictions ntprof_ProfileBranchMispredictions
#pragma push_macro("ProfileStoreInstructions")
#undef ProfileStoreInstructions
#define ProfileStoreInstructions ntprof_ProfileStoreInstructions
#pragma push_macro("ProfileFpInstructions")
#undef ProfileFpInstructions
#define ProfileFpInstructions ntprof_ProfileFpInstructions
#pragma push_macro("ProfileIntegerInstructions")
#undef ProfileIntegerInstructions
#define ProfileIntegerInstructions ntprof_ProfileIntegerInstructions
#pragma push_macro("Profile2Issue")
#undef Profile2Issue
#define Profile2Issue ntprof_Profile2Issue
#pragma push_macro("Profile3Issue")
#undef Profile3Issue
#define Profile3Issue ntprof_Profile3Issue
#pragma push_macro("Profile4Issue")
#undef Profile4Issue
#define Profile4Issue ntprof_Profile4Issue
#pragma push_macro("ProfileSpecialInstructions")
#undef ProfileSpecialInstructions
#define ProfileSpecialInstructions ntprof_ProfileSpecialInstructions
#pragma push_macro("ProfileTotalCycles")
#undef ProfileTotalCycles
#define ProfileTotalCycles ntprof_ProfileTotalCycles
#pragma push_macro("ProfileIcacheIssues")
#undef ProfileIcacheIssues
#define ProfileIcacheIssues ntprof_ProfileIcacheIssues
#pragma push_macro("ProfileDcacheAccesses")
#undef ProfileDcacheAccesses
#define ProfileDcacheAccesses ntprof_ProfileDcacheAccesses
#pragma push_macro("ProfileMemoryBarrierCycles")
#undef ProfileMemoryBarrierCycles
#define ProfileMemoryBarrierCycles ntprof_ProfileMemoryBarrierCycles
#pragma push_macro("ProfileLoadLinkedIssues")
#undef ProfileLoadLinkedIssues
#define ProfileLoadLinkedIssues ntprof_ProfileLoadLinkedIssues
#pragma push_macro("ProfileMaximum")
#undef ProfileMaximum
#define ProfileMaximum ntprof_ProfileMaximum
#pragma push_macro("ProfileNtprofBase")
#undef ProfileNtprofBase
#define ProfileNtprofBase ntprof_ProfileNtprofBase
#pragma push_macro("ProfilePageFaults")
#undef ProfilePageFaults
#define ProfilePageFaults ntprof_ProfilePageFaults
#pragma push_macro("ProfileMinorFaults")
#undef ProfileMinorFaults
#define ProfileMinorFaults ntprof_ProfileMinorFaults
#pragma push_macro("ProfileMajorFaults")
#undef ProfileMajorFaults
#define ProfileMajorFaults ntprof_ProfileMajorFaults
#pragma push_macro("ProfileContextSwitches")
#undef ProfileContextSwitches
#define ProfileContextSwitches ntprof_ProfileContextSwitches
#pragma push_macro("ProfileMigrations")
#undef ProfileMigrations
#define ProfileMigrations ntprof_ProfileMigrations
#pragma push_macro("ProfileDynamicBase")
#undef ProfileDynamicBase
#define ProfileDynamicBase ntprof_ProfileDynamicBase
#pragma push_macro("PROFILE_BUCKET_LOG2_MIN")
#undef PROFILE_BUCKET_LOG2_MIN
#define PROFILE_BUCKET_LOG2_MIN ntprof_PROFILE_BUCKET_LOG2_MIN
#pragma push_macro("PROFILE_BUCKET_LOG2_MAX")
#undef PROFILE_BUCKET_LOG2_MAX
#define PROFILE_BUCKET_LOG2_MAX ntprof_PROFILE_BUCKET_LOG2_MAX
#pragma push_macro("OBJECT_INFORMATION_CLASS")
#undef OBJECT_INFORMATION_CLASS
#define OBJECT_INFORMATION_CLASS ntprof_OBJECT_INFORMATION_CLASS
#pragma push_macro("ObjectBasicInformation")
#undef ObjectBasicInformation
#define ObjectBasicInformation ntprof_ObjectBasicInformation
#pragma push_macro("ObjectNameInformation")
#undef ObjectNameInformation
#define ObjectNameInformation ntprof_ObjectNameInformation
#pragma push_macro("ObjectTypeInformation")
#undef ObjectTypeInformation
#define ObjectTypeInformation ntprof_ObjectTypeInformation
#pragma push_macro("_OBJECT_BASIC_INFORMATION")
#undef _OBJECT_BASIC_INFORMATION
#define _OBJECT_BASIC_INFORMATION ntprof__OBJECT_BASIC_INFORMATION
#pragma push_macro("OBJECT_BASIC_INFORMATION")
#undef OBJECT_BASIC_INFORMATION
#define OBJECT_BASIC_INFORMATION ntprof_OBJECT_BASIC_INFORMATION
#pragma push_macro("_OBJECT_NAME_INFORMATION")
#undef _OBJECT_NAME_INFORMATION
#define _OBJECT_NAME_INFORMATION ntprof__OBJECT_NAME_INFORMATION
#pragma push_macro("OBJECT_NAME_INFORMATION")
#undef OBJECT_NAME_INFORMATION
#define OBJECT_NAME_INFORMATION ntprof_OBJECT_NAME_INFORMATION
#pragma push_macro("_OBJECT_TYPE_INFORMATION")
#undef _OBJECT_TYPE_INFORMATION
#define _OBJECT_TYPE_INFORMATION ntprof__OBJECT_TYPE_INFORMATION
#pragma push_macro("OBJECT_TYPE_INFORMATION")
#undef OBJECT_TYPE_INFORMATION
#define OBJECT_TYPE_INFORMATION ntprof_OBJECT_TYPE_INFORMATION
#pragma push_macro("NtCreateProfileEx")
#undef NtCreateProfileEx
#define NtCreateProfileEx ntprof_NtCreateProfileEx
#pragma push_macro("NtCreateProfile")
#undef NtCreateProfile
#define NtCreateProfile ntprof_NtCreateProfile
#pragma push_macro("NtStartProfile")
#undef NtStartProfile
#define NtStartProfile ntprof_NtStartProfile
#pragma push_macro("NtStopProfile")
#undef NtStopProfile
#define NtStopProfile ntprof_NtStopProfile
#pragma push_macro("NtQueryIntervalProfile")
#undef NtQueryIntervalProfile
#define NtQueryIntervalProfile ntprof_NtQueryIntervalProfile
#pragma push_macro("NtSetIntervalProfile")
#undef NtSetIntervalProfile
#define NtSetIntervalProfile ntprof_NtSetIntervalProfile
#pragma push_macro("NtClose")
#undef NtClose
#define NtClose ntprof_NtClose
#pragma push_macro("NtOpenProcess")
#undef NtOpenProcess
#define NtOpenProcess ntprof_NtOpenProcess
#pragma push_macro("NtDuplicateObject")
#undef NtDuplicateObject
#define NtDuplicateObject ntprof_NtDuplicateObject
#pragma push_macro("NtQueryObject")
#undef NtQueryObject
#define NtQueryObject ntprof_NtQueryObject

#endif
