#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Each public header compiles alone, and ntprof.h beside other definitions of NT's names, as C11
and as C++17 with every compiler that is there, all warnings as errors.

usage: check_headers.py INCLUDE-FOLDER HEADER...

With NTPROF_PREFIXED a unit may have any definitions; without it, such as agree with ours. That the
prefix is on every name is looked up in what the preprocessor gives.
"""
import os
import re
import shutil
import subprocess
import sys

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wundef", "-Werror"]
LANGUAGES = [(["-x", "c", "-std=c11", "-Wstrict-prototypes"], [os.environ.get("CC", "cc"), "gcc", "clang"]),
             (["-x", "c++", "-std=c++17"], ["c++", "g++", "clang++"])]
PARTS = ["nt_names_begin.h", "nt_names_end.h"]  # each is for the beginning and the end of another
OURS = re.compile(r"ntprof_|NTPROF_")

PREFIXED = "#define NTPROF_PREFIXED\n#include <ntprof/ntprof.h>\n"
CORE_PREFIXED = "#define NTPROF_PREFIXED\n#include <ntprof/core.h>\n"

# Definitions that are not ours at all.
FOREIGN = """
typedef unsigned long ULONG;
typedef long NTSTATUS;
typedef unsigned int HANDLE;
typedef double SIZE_T;
typedef struct other_large { int parts[4]; } LONG64;
typedef enum _KPROFILE_SOURCE { ProfileTime = 7, ProfileMaximum = 9 } KPROFILE_SOURCE;
struct _GROUP_AFFINITY { char other; };
typedef struct _GROUP_AFFINITY GROUP_AFFINITY;
enum { ObjectBasicInformation = 5, PROFILE_BUCKET_LOG2_MIN = 1 };
#define STATUS_SUCCESS 1
#define STATUS_ACCESS_DENIED 5
#define NT_SUCCESS(status) ((status) == 1)
#define PROFILE_CONTROL "control"
#define OBJ_INHERIT (-1)
#define NtCurrentProcess() 0
#define TRUE (-1)
#define BOOLEAN int
#define USHORT unsigned
NTSTATUS NtClose(HANDLE handle, int how);
double ZwClose(void);
void NtCreateProfile(void);
"""

# What it looks like when both are used.
USE_BOTH = """
ULONG theirs(NTSTATUS status, BOOLEAN flag, USHORT number);
ULONG theirs(NTSTATUS status, BOOLEAN flag, USHORT number)
{
    const GROUP_AFFINITY affinity = {'x'};

    return (ULONG)NtClose((HANDLE)(number + affinity.other), flag) + (NT_SUCCESS(status) ? TRUE : ProfileTime);
}
int ours(void);
int ours(void)
{
    ntprof_HANDLE handle = ntprof_NtCurrentProcess();
    ntprof_GROUP_AFFINITY affinity = {1, 0, {0, 0, 0}};
    ntprof_KPROFILE_SOURCE source = ntprof_ProfileTime;
    ntprof_ULONG counters[4];
    ntprof_NTSTATUS status = ntprof_NtCreateProfileEx(&handle, handle, counters, sizeof(counters),
        ntprof_PROFILE_BUCKET_LOG2_MIN, counters, sizeof(counters), source, 1, &affinity);

    return ntprof_NT_SUCCESS(status) && status == ntprof_STATUS_SUCCESS &&
        ntprof_NtClose(handle) == ntprof_STATUS_ACCESS_DENIED;
}
"""

# What kernels have, and what an embedder writes beside it.
FOREIGN_KERNEL = FOREIGN + """
typedef enum _MODE { KernelMode, UserMode, MaximumMode } MODE;
typedef char KPROCESSOR_MODE;
typedef struct _MDL { struct _MDL *Next; short Size; } MDL, *PMDL;
typedef struct _EPROCESS { int theirs; } EPROCESS;
typedef struct _KPROFILE { int theirs; } KPROFILE;
#define HAL 1
void ObReferenceObject(void *object);
int ExCreateProfile(int theirs);
"""
USE_KERNEL = """
int embedder(void);
int embedder(void)
{
    ntprof_HOST host = {0, 0};
    ntprof_HAL hal = {0, 0};
    ntprof_KSYSTEM *system = 0;
    ntprof_EX_CREATE_PROFILE request;
    ntprof_EPROFILE *profile = 0;
    EPROCESS theirs = {HAL + KernelMode};
    MDL mdl = {0, 0};

    request.ProfileBase = 0;
    ObReferenceObject(&mdl);
    return ntprof_ExCreateSystem(&host, &hal, 0, &system) + ntprof_ExCreateProfileObject(system, ntprof_UserMode,
        ntprof_EX_CREATE_PROFILE_EX, &request, 0, &profile) + ExCreateProfile(theirs.theirs);
}
"""

# Definitions that agree, spelt as others spell them.
AGREEING_TYPES = """
typedef unsigned int ULONG;
typedef int LONG;
typedef LONG NTSTATUS;
typedef void *PVOID;
typedef PVOID HANDLE;
typedef unsigned char BOOLEAN;
typedef unsigned short USHORT;
"""
AGREEING_MACROS = """
#define TRUE (1 == 1)
#define FALSE 0L
#define STATUS_SUCCESS 0
#define STATUS_ACCESS_DENIED ((NTSTATUS)0xC0000022L)
#define NT_SUCCESS(Status) (((NTSTATUS)(Status)) >= 0)
#define OBJ_INHERIT 0x00000002L
#define PROCESS_QUERY_INFORMATION (0x0400)
"""
AGREEING_AFTER = AGREEING_TYPES + """
#ifdef __cplusplus
extern "C"
#endif
NTSTATUS NtClose(HANDLE Handle);
#define TRUE 1
#define FALSE 0
"""
# The calls as the documents print them, by each of their names that others have.
AS_PRINTED = """
#ifdef __cplusplus
extern "C" {
#endif
#define PRINTED(Nt) \\
NTSTATUS Nt##CreateProfile(HANDLE *ProfileHandle, HANDLE Process, PVOID ProfileBase, SIZE_T ProfileSize, \\
    ULONG BucketSize, ULONG *Buffer, ULONG BufferSize, KPROFILE_SOURCE ProfileSource, KAFFINITY Affinity); \\
NTSTATUS Nt##CreateProfileEx(HANDLE *ProfileHandle, HANDLE Process, PVOID ProfileBase, SIZE_T ProfileSize, \\
    ULONG BucketSize, ULONG *Buffer, ULONG BufferSize, KPROFILE_SOURCE ProfileSource, USHORT GroupCount, \\
    GROUP_AFFINITY *AffinityArray); \\
NTSTATUS Nt##StartProfile(HANDLE ProfileHandle); \\
NTSTATUS Nt##StopProfile(HANDLE ProfileHandle); \\
NTSTATUS Nt##QueryIntervalProfile(KPROFILE_SOURCE ProfileSource, ULONG *Interval); \\
NTSTATUS Nt##SetIntervalProfile(ULONG Interval, KPROFILE_SOURCE ProfileSource)
PRINTED(Nt);
PRINTED(Zw);
PRINTED(ntprof_Nt);
#ifdef __cplusplus
}
#endif
"""
USE_OURS = """
int used(void);
int used(void)
{
    return NT_SUCCESS(NtClose(NtCurrentProcess())) && NtStopProfile((HANDLE)0) != STATUS_ACCESS_DENIED;
}
"""

# Both in one unit, by whichever headers: refused in words, not by errors of types.
MIXED = {
    "plain, then prefixed": "#include <ntprof/{0}.h>\n#define NTPROF_PREFIXED\n#include <ntprof/{1}.h>\n",
    "prefixed, then plain":
        "#define NTPROF_PREFIXED\n#include <ntprof/{0}.h>\n#undef NTPROF_PREFIXED\n#include <ntprof/{1}.h>\n",
}
MIXED_HEADERS = [("ntprof", "ntprof"), ("nt_types", "ntprof"), ("session", "session"),
                 ("ntprof", "nt_status"), ("source", "nt_profile"), ("core", "host")]

# Macros of the same names are theirs again after the header.
MACROS = """
#define ULONG unsigned char
#define ProfileTime 3
#define NtClose(handle) theirs_closes(handle)
#define HANDLE struct theirs *
"""
MACROS_AFTER = """
int macros(void);
int macros(void)
{
    typedef char of_one_byte[sizeof(ULONG) == 1 ? 1 : -1];

    return (int)sizeof(of_one_byte) + ProfileTime;
}
#ifndef NtClose
#error "NtClose was a macro before"
#endif
"""

UNITS = {
    "others before, prefixed": FOREIGN + PREFIXED + USE_BOTH,
    "others after, prefixed": PREFIXED + FOREIGN + USE_BOTH,
    "a kernel's before, prefixed": FOREIGN_KERNEL + CORE_PREFIXED + USE_KERNEL,
    "a kernel's after, prefixed": CORE_PREFIXED + FOREIGN_KERNEL + USE_KERNEL,
    "macros of others, prefixed": MACROS + PREFIXED + MACROS_AFTER,
    "agreeing types and macros before": AGREEING_TYPES + AGREEING_MACROS +
        "#include <ntprof/ntprof.h>\n" + USE_OURS,
    "calls declared as printed": "#include <ntprof/ntprof.h>\n" + AS_PRINTED,
    "agreeing definitions after": "#include <ntprof/ntprof.h>\n" + AGREEING_AFTER + USE_OURS,
}


def compile_unit(compiler, flags, include, text):
    return subprocess.run([compiler, *flags, *WARNINGS, "-I", include, "-fsyntax-only", "-"],
                          input=text, capture_output=True, text=True)


def units(headers):
    for header in headers:
        # Twice, for its guard; then used, so that it is more than text.
        text = f"#include <ntprof/{header}>\n" * 2 + "int ntprof_test_translation_unit;\n"
        yield header, text
        if header not in PARTS:
            yield f"{header}, prefixed", "#define NTPROF_PREFIXED\n" + text
    yield from UNITS.items()


def check_units(compiler, flags, include, headers):
    failed = 0
    ran = 0
    for name, text in units(headers):
        done = compile_unit(compiler, flags, include, text)
        ran += 1
        if done.returncode != 0:
            failed += 1
            print(f"{name}, {compiler} {flags[2]}: {done.stderr}")
    # And the other way round: what must not compile does not.
    for name, text in MIXED.items():
        for first, second in MIXED_HEADERS:
            ran += 1
            done = compile_unit(compiler, flags, include, text.format(first, second))
            if done.returncode == 0 or "NTPROF_PREFIXED" not in done.stderr:
                failed += 1
                print(f"{name}, {first}.h and {second}.h, {compiler}: {done.stderr or 'compiles'}")
    return ran, failed


def preprocess(include, text, *flags):
    compiler = os.environ.get("CC", "cc")
    return subprocess.run([compiler, "-x", "c", "-std=c11", "-E", *flags, "-I", include, "-"],
                          input=text, capture_output=True, text=True, check=True).stdout


def declared(text):
    """Names of file scope in preprocessed C: types, tags, enumerators, functions."""
    text = re.sub(r"_Static_assert\s*\((?:[^()]|\([^()]*\))*\)\s*;", "", text)
    names = set(re.findall(r"\b(?:struct|union|enum)\s+(\w+)", text))
    for body in re.findall(r"\benum\b[^{};]*\{([^}]*)\}", text):
        names.update(re.findall(r"(?:^|,)\s*(\w+)", body))
    while True:
        flat = re.sub(r"\{[^{}]*\}", " ", text)
        if flat == text:
            break
        text = flat
    for statement in text.split(";"):
        before = re.sub(r"\(.*", "", statement, flags=re.S)
        words = re.findall(r"\w+", before)
        if len(words) > 1:
            names.add(words[-1])
    return names


def our_lines(text):
    ours = False
    for line in text.splitlines():
        marker = re.match(r'#\s+\d+\s+"([^"]*)"', line)
        if marker:
            ours = "/ntprof/" in marker[1]
        elif ours and not line.startswith("#"):
            yield line


def check_prefix(include, header, some):
    """Header with all that it includes; some are names that it has."""
    prefixed = f"#define NTPROF_PREFIXED\n#include <ntprof/{header}>\n"
    macros = re.compile(r"^#define (\w+)", re.M)
    system = "#include <stddef.h>\n#include <stdint.h>\n"
    faults = set(macros.findall(preprocess(include, prefixed, "-dM")))
    faults -= set(macros.findall(preprocess(include, system, "-dM")))
    names = declared("\n".join(our_lines(preprocess(include, prefixed))))
    plain = declared("\n".join(our_lines(preprocess(include, f"#include <ntprof/{header}>\n"))))
    found = len(names)
    faults = {name for name in faults | names if not OURS.match(name)}
    for name in sorted(faults):
        print(f"no prefix although NTPROF_PREFIXED: {name}")
    # What looks for names must find those that there are.
    for name in some:
        if name not in plain or f"ntprof_{name.removeprefix('ntprof_')}" not in names:
            faults.add(name)
            print(f"not found among what is declared: {name}")
    return found, len(faults)


def version(compiler):
    return subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout.split(maxsplit=1)[1]


def main():
    include, *headers = sys.argv[1:]
    ran, failed = 0, 0
    for flags, compilers in LANGUAGES:
        # Each once, by what it says behind its name. One path of ccache can be any of them.
        paths = {version(path): path for path in map(shutil.which, compilers) if path}
        if not paths:
            print(f"no compiler for {flags[1]}")
            return 77
        for compiler in sorted(paths.values()):
            done, wrong = check_units(compiler, flags, include, headers)
            ran += done
            failed += wrong
    names, unprefixed = check_prefix(
        include, "ntprof.h", ("ULONG", "_CLIENT_ID", "ProfileTime", "NtClose", "ntprof_session_open"))
    more, faults = check_prefix(
        include, "core.h", ("ULONG", "_HOST_TABLE", "MDL", "KernelMode", "KE_HIT", "ExCreateSystem", "EX_LAYOUT_32"))
    names, unprefixed = names + more, unprefixed + faults
    print(f"check_headers: {ran} compilations, {failed} failed; {names} names, {unprefixed} faults")
    return 1 if failed or unprefixed or not ran or not names else 0


sys.exit(main())
