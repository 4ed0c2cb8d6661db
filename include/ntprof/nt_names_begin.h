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
#pragma push_macro("KPROCESSOR_MODE")
#undef KPROCESSOR_MODE
#define KPROCESSOR_MODE ntprof_KPROCESSOR_MODE
#pragma push_macro("KernelMode")
#undef KernelMode
#define KernelMode ntprof_KernelMode
#pragma push_macro("UserMode")
#undef UserMode
#define UserMode ntprof_UserMode
#pragma push_macro("_MDL")
#undef _MDL
#define _MDL ntprof__MDL
#pragma push_macro("MDL")
#undef MDL
#define MDL ntprof_MDL
#pragma push_macro("_HOST_PROCESS")
#undef _HOST_PROCESS
#define _HOST_PROCESS ntprof__HOST_PROCESS
#pragma push_macro("HOST_PROCESS")
#undef HOST_PROCESS
#define HOST_PROCESS ntprof_HOST_PROCESS
#pragma push_macro("HOST_RESTRICTED_BY_INTEGRITY_LEVEL")
#undef HOST_RESTRICTED_BY_INTEGRITY_LEVEL
#define HOST_RESTRICTED_BY_INTEGRITY_LEVEL ntprof_HOST_RESTRICTED_BY_INTEGRITY_LEVEL
#pragma push_macro("HOST_RESTRICTED_BY_ACCESS_CHECK")
#undef HOST_RESTRICTED_BY_ACCESS_CHECK
#define HOST_RESTRICTED_BY_ACCESS_CHECK ntprof_HOST_RESTRICTED_BY_ACCESS_CHECK
#pragma push_macro("_HOST_TABLE")
#undef _HOST_TABLE
#define _HOST_TABLE ntprof__HOST_TABLE
#pragma push_macro("HOST_TABLE")
#undef HOST_TABLE
#define HOST_TABLE ntprof_HOST_TABLE
#pragma push_macro("_HOST")
#undef _HOST
#define _HOST ntprof__HOST
#pragma push_macro("HOST")
#undef HOST
#define HOST ntprof_HOST
#pragma push_macro("HAL_COUNTS_ITSELF")
#undef HAL_COUNTS_ITSELF
#define HAL_COUNTS_ITSELF ntprof_HAL_COUNTS_ITSELF
#pragma push_macro("HAL_GLOBAL")
#undef HAL_GLOBAL
#define HAL_GLOBAL ntprof_HAL_GLOBAL
#pragma push_macro("HAL_KERNEL")
#undef HAL_KERNEL
#define HAL_KERNEL ntprof_HAL_KERNEL
#pragma push_macro("KE_SCOPE_PROCESS")
#undef KE_SCOPE_PROCESS
#define KE_SCOPE_PROCESS ntprof_KE_SCOPE_PROCESS
#pragma push_macro("KE_SCOPE_GLOBAL")
#undef KE_SCOPE_GLOBAL
#define KE_SCOPE_GLOBAL ntprof_KE_SCOPE_GLOBAL
#pragma push_macro("KE_SCOPE_BOTH")
#undef KE_SCOPE_BOTH
#define KE_SCOPE_BOTH ntprof_KE_SCOPE_BOTH
#pragma push_macro("_KE_HIT")
#undef _KE_HIT
#define _KE_HIT ntprof__KE_HIT
#pragma push_macro("KE_HIT")
#undef KE_HIT
#define KE_HIT ntprof_KE_HIT
#pragma push_macro("KE_HALT_NONE")
#undef KE_HALT_NONE
#define KE_HALT_NONE ntprof_KE_HALT_NONE
#pragma push_macro("KE_HALT_BUG_CHECK")
#undef KE_HALT_BUG_CHECK
#define KE_HALT_BUG_CHECK ntprof_KE_HALT_BUG_CHECK
#pragma push_macro("KE_HALT_CORRUPTION")
#undef KE_HALT_CORRUPTION
#define KE_HALT_CORRUPTION ntprof_KE_HALT_CORRUPTION
#pragma push_macro("KE_IRQL_NOT_LESS_OR_EQUAL")
#undef KE_IRQL_NOT_LESS_OR_EQUAL
#define KE_IRQL_NOT_LESS_OR_EQUAL ntprof_KE_IRQL_NOT_LESS_OR_EQUAL
#pragma push_macro("KE_KMODE_EXCEPTION_NOT_HANDLED")
#undef KE_KMODE_EXCEPTION_NOT_HANDLED
#define KE_KMODE_EXCEPTION_NOT_HANDLED ntprof_KE_KMODE_EXCEPTION_NOT_HANDLED
#pragma push_macro("_KE_HALT")
#undef _KE_HALT
#define _KE_HALT ntprof__KE_HALT
#pragma push_macro("KE_HALT")
#undef KE_HALT
#define KE_HALT ntprof_KE_HALT
#pragma push_macro("_KE_STATISTICS")
#undef _KE_STATISTICS
#define _KE_STATISTICS ntprof__KE_STATISTICS
#pragma push_macro("KE_STATISTICS")
#undef KE_STATISTICS
#define KE_STATISTICS ntprof_KE_STATISTICS
#pragma push_macro("_HAL_SOURCE")
#undef _HAL_SOURCE
#define _HAL_SOURCE ntprof__HAL_SOURCE
#pragma push_macro("HAL_SOURCE")
#undef HAL_SOURCE
#define HAL_SOURCE ntprof_HAL_SOURCE
#pragma push_macro("_HAL_COUNTING")
#undef _HAL_COUNTING
#define _HAL_COUNTING ntprof__HAL_COUNTING
#pragma push_macro("HAL_COUNTING")
#undef HAL_COUNTING
#define HAL_COUNTING ntprof_HAL_COUNTING
#pragma push_macro("_HAL_TABLE")
#undef _HAL_TABLE
#define _HAL_TABLE ntprof__HAL_TABLE
#pragma push_macro("HAL_TABLE")
#undef HAL_TABLE
#define HAL_TABLE ntprof_HAL_TABLE
#pragma push_macro("_HAL")
#undef _HAL
#define _HAL ntprof__HAL
#pragma push_macro("HAL")
#undef HAL
#define HAL ntprof_HAL
#pragma push_macro("_KSYSTEM")
#undef _KSYSTEM
#define _KSYSTEM ntprof__KSYSTEM
#pragma push_macro("KSYSTEM")
#undef KSYSTEM
#define KSYSTEM ntprof_KSYSTEM
#pragma push_macro("_EPROFILE")
#undef _EPROFILE
#define _EPROFILE ntprof__EPROFILE
#pragma push_macro("EPROFILE")
#undef EPROFILE
#define EPROFILE ntprof_EPROFILE
#pragma push_macro("_EPROCESS")
#undef _EPROCESS
#define _EPROCESS ntprof__EPROCESS
#pragma push_macro("EPROCESS")
#undef EPROCESS
#define EPROCESS ntprof_EPROCESS
#pragma push_macro("EX_ABI_HOST")
#undef EX_ABI_HOST
#define EX_ABI_HOST ntprof_EX_ABI_HOST
#pragma push_macro("EX_ABI_X64")
#undef EX_ABI_X64
#define EX_ABI_X64 ntprof_EX_ABI_X64
#pragma push_macro("EX_ABI_X86")
#undef EX_ABI_X86
#define EX_ABI_X86 ntprof_EX_ABI_X86
#pragma push_macro("EX_LAYOUT_HOST")
#undef EX_LAYOUT_HOST
#define EX_LAYOUT_HOST ntprof_EX_LAYOUT_HOST
#pragma push_macro("EX_LAYOUT_64")
#undef EX_LAYOUT_64
#define EX_LAYOUT_64 ntprof_EX_LAYOUT_64
#pragma push_macro("EX_LAYOUT_32")
#undef EX_LAYOUT_32
#define EX_LAYOUT_32 ntprof_EX_LAYOUT_32
#pragma push_macro("_EX_OPTIONS")
#undef _EX_OPTIONS
#define _EX_OPTIONS ntprof__EX_OPTIONS
#pragma push_macro("EX_OPTIONS")
#undef EX_OPTIONS
#define EX_OPTIONS ntprof_EX_OPTIONS
#pragma push_macro("ExFindTableFault")
#undef ExFindTableFault
#define ExFindTableFault ntprof_ExFindTableFault
#pragma push_macro("ExCreateSystem")
#undef ExCreateSystem
#define ExCreateSystem ntprof_ExCreateSystem
#pragma push_macro("ExDeleteSystem")
#undef ExDeleteSystem
#define ExDeleteSystem ntprof_ExDeleteSystem
#pragma push_macro("ExProfileInterrupt")
#undef ExProfileInterrupt
#define ExProfileInterrupt ntprof_ExProfileInterrupt
#pragma push_macro("ExFlushProfiles")
#undef ExFlushProfiles
#define ExFlushProfiles ntprof_ExFlushProfiles
#pragma push_macro("ExNoticeHalt")
#undef ExNoticeHalt
#define ExNoticeHalt ntprof_ExNoticeHalt
#pragma push_macro("ExQueryHalt")
#undef ExQueryHalt
#define ExQueryHalt ntprof_ExQueryHalt
#pragma push_macro("ExQueryStatistics")
#undef ExQueryStatistics
#define ExQueryStatistics ntprof_ExQueryStatistics
#pragma push_macro("ExReferenceProcessById")
#undef ExReferenceProcessById
#define ExReferenceProcessById ntprof_ExReferenceProcessById
#pragma push_macro("ExEndProcess")
#undef ExEndProcess
#define ExEndProcess ntprof_ExEndProcess
#pragma push_macro("_EX_CREATE_PROFILE")
#undef _EX_CREATE_PROFILE
#define _EX_CREATE_PROFILE ntprof__EX_CREATE_PROFILE
#pragma push_macro("EX_CREATE_PROFILE")
#undef EX_CREATE_PROFILE
#define EX_CREATE_PROFILE ntprof_EX_CREATE_PROFILE
#pragma push_macro("EX_CREATE_PROFILE_EX")
#undef EX_CREATE_PROFILE_EX
#define EX_CREATE_PROFILE_EX ntprof_EX_CREATE_PROFILE_EX
#pragma push_macro("EX_CREATE_PROFILE_AFFINITY")
#undef EX_CREATE_PROFILE_AFFINITY
#define EX_CREATE_PROFILE_AFFINITY ntprof_EX_CREATE_PROFILE_AFFINITY
#pragma push_macro("EX_CREATE_PROFILE_310")
#undef EX_CREATE_PROFILE_310
#define EX_CREATE_PROFILE_310 ntprof_EX_CREATE_PROFILE_310
#pragma push_macro("_EX_HANDLE_TABLE")
#undef _EX_HANDLE_TABLE
#define _EX_HANDLE_TABLE ntprof__EX_HANDLE_TABLE
#pragma push_macro("EX_HANDLE_TABLE")
#undef EX_HANDLE_TABLE
#define EX_HANDLE_TABLE ntprof_EX_HANDLE_TABLE
#pragma push_macro("ExCreateProfileObject")
#undef ExCreateProfileObject
#define ExCreateProfileObject ntprof_ExCreateProfileObject
#pragma push_macro("ExStartProfileObject")
#undef ExStartProfileObject
#define ExStartProfileObject ntprof_ExStartProfileObject
#pragma push_macro("ExStopProfileObject")
#undef ExStopProfileObject
#define ExStopProfileObject ntprof_ExStopProfileObject
#pragma push_macro("ExReferenceObject")
#undef ExReferenceObject
#define ExReferenceObject ntprof_ExReferenceObject
#pragma push_macro("ExDereferenceObject")
#undef ExDereferenceObject
#define ExDereferenceObject ntprof_ExDereferenceObject
#pragma push_macro("EX_MOST_GROUPS")
#undef EX_MOST_GROUPS
#define EX_MOST_GROUPS ntprof_EX_MOST_GROUPS
#pragma push_macro("_EX_PROFILE_INFORMATION")
#undef _EX_PROFILE_INFORMATION
#define _EX_PROFILE_INFORMATION ntprof__EX_PROFILE_INFORMATION
#pragma push_macro("EX_PROFILE_INFORMATION")
#undef EX_PROFILE_INFORMATION
#define EX_PROFILE_INFORMATION ntprof_EX_PROFILE_INFORMATION
#pragma push_macro("ExQueryProfileObject")
#undef ExQueryProfileObject
#define ExQueryProfileObject ntprof_ExQueryProfileObject
#pragma push_macro("ExNextProfileObject")
#undef ExNextProfileObject
#define ExNextProfileObject ntprof_ExNextProfileObject
#pragma push_macro("ExCreateProfileEx")
#undef ExCreateProfileEx
#define ExCreateProfileEx ntprof_ExCreateProfileEx
#pragma push_macro("ExCreateProfile")
#undef ExCreateProfile
#define ExCreateProfile ntprof_ExCreateProfile
#pragma push_macro("ExCreateProfile310")
#undef ExCreateProfile310
#define ExCreateProfile310 ntprof_ExCreateProfile310
#pragma push_macro("ExStartProfile")
#undef ExStartProfile
#define ExStartProfile ntprof_ExStartProfile
#pragma push_macro("ExStopProfile")
#undef ExStopProfile
#define ExStopProfile ntprof_ExStopProfile
#pragma push_macro("ExClose")
#undef ExClose
#define ExClose ntprof_ExClose
#pragma push_macro("ExOpenProcess")
#undef ExOpenProcess
#define ExOpenProcess ntprof_ExOpenProcess
#pragma push_macro("_EX_DUPLICATE_OBJECT")
#undef _EX_DUPLICATE_OBJECT
#define _EX_DUPLICATE_OBJECT ntprof__EX_DUPLICATE_OBJECT
#pragma push_macro("EX_DUPLICATE_OBJECT")
#undef EX_DUPLICATE_OBJECT
#define EX_DUPLICATE_OBJECT ntprof_EX_DUPLICATE_OBJECT
#pragma push_macro("ExDuplicateObject")
#undef ExDuplicateObject
#define ExDuplicateObject ntprof_ExDuplicateObject
#pragma push_macro("ExQueryObject")
#undef ExQueryObject
#define ExQueryObject ntprof_ExQueryObject
#pragma push_macro("ExQueryIntervalProfile")
#undef ExQueryIntervalProfile
#define ExQueryIntervalProfile ntprof_ExQueryIntervalProfile
#pragma push_macro("ExSetIntervalProfile")
#undef ExSetIntervalProfile
#define ExSetIntervalProfile ntprof_ExSetIntervalProfile
#pragma push_macro("ExQueryIntervalProfile310")
#undef ExQueryIntervalProfile310
#define ExQueryIntervalProfile310 ntprof_ExQueryIntervalProfile310
#pragma push_macro("ExSetIntervalProfile310")
#undef ExSetIntervalProfile310
#define ExSetIntervalProfile310 ntprof_ExSetIntervalProfile310

#endif
