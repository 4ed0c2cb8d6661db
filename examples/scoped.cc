/* SPDX-License-Identifier: MIT */
/*
 * scoped.cc - profile objects in C++17: a class owns the profile and its counters, and
 * a scope is what is profiled. Public headers only.
 *
 *   c++ -std=c++17 -O2 scoped.cc -o scoped $(pkg-config --cflags --libs ntprof)
 */
#include <ntprof/ntprof.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

namespace
{

void
check(const char *what, NTSTATUS status)
{
    if (!NT_SUCCESS(status)) {
        throw std::runtime_error(std::string(what) + ": " + ntprof_status_name(status) +
                                 " (" + ntprof_status_text(status) + ")");
    }
}

/* Profile - counts the hits of a source in a region of this process. */
class Profile
{
  public:
    static constexpr ULONG bucket_log2 = 4;

    Profile(const char *begin, const char *end, KPROFILE_SOURCE source = ProfileTime)
        : count_((static_cast<std::size_t>(end - begin) >> bucket_log2) + 1),
          counters_(static_cast<ULONG *>(ntprof_buffer_alloc(bytes())), Free{bytes()})
    {
        if (counters_ == nullptr) {
            throw std::bad_alloc();
        }
        check("NtCreateProfileEx",
              NtCreateProfileEx(&handle_, NtCurrentProcess(), const_cast<char *>(begin),
                                static_cast<SIZE_T>(end - begin), bucket_log2,
                                counters_.get(), static_cast<ULONG>(bytes()), source, 0,
                                nullptr));
    }

    ~Profile()
    {
        NtClose(handle_); /* which stops it too */
    }

    Profile(const Profile &) = delete;
    Profile &operator=(const Profile &) = delete;

    std::uint64_t
    hits() const
    {
        return std::accumulate(counters_.get(), counters_.get() + count_,
                               std::uint64_t{0});
    }

    /* Running - the profile counts while this lives, however its scope is left. */
    class Running
    {
      public:
        explicit Running(Profile &profile) : handle_(profile.handle_)
        {
            check("NtStartProfile", NtStartProfile(handle_));
        }

        ~Running()
        {
            NtStopProfile(handle_); /* then no counter changes any more */
        }

        Running(const Running &) = delete;
        Running &operator=(const Running &) = delete;

      private:
        HANDLE handle_;
    };

  private:
    struct Free {
        std::size_t bytes;

        void
        operator()(ULONG *counters) const
        {
            ntprof_buffer_free(counters, bytes);
        }
    };

    std::size_t
    bytes() const
    {
        return count_ * sizeof(ULONG);
    }

    std::size_t count_; /* before counters_, whose size it is */
    std::unique_ptr<ULONG, Free> counters_;
    HANDLE handle_ = nullptr;
};

} // namespace

/* The linker gives these two for a section whose name is a C name. */
extern "C" const char __start_measured[];
extern "C" const char __stop_measured[];

__attribute__((section("measured"), noinline)) static std::uint64_t
mix(std::uint64_t value, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        value ^= value >> 29;
        value *= 0xBF58476D1CE4E5B9u;
    }
    return value;
}

/* Half a second of work. Returns a number that depends on all of it. */
static std::uint64_t
work()
{
    const std::clock_t end = std::clock() + CLOCKS_PER_SEC / 2;
    std::uint64_t sum = 1;

    do {
        sum += mix(sum, 1000);
    } while (std::clock() < end);
    return sum;
}

int
main()
try {
    Profile profile(__start_measured, __stop_measured);
    std::uint64_t result = 0;

    {
        const Profile::Running running(profile);

        result = work();
    }
    const std::uint64_t first = profile.hits();

    result += work(); /* nobody counts */
    std::printf("%llu hits while it ran\n", static_cast<unsigned long long>(first));
    std::printf("%llu more when it did not\n",
                static_cast<unsigned long long>(profile.hits() - first));
    try {
        const Profile::Running running(profile);

        result += work();
        throw std::runtime_error("leaves the scope");
    } catch (const std::exception &error) {
        std::printf("%llu more until an exception that %s\n(result %llx)\n",
                    static_cast<unsigned long long>(profile.hits() - first),
                    error.what(), static_cast<unsigned long long>(result));
    }
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "scoped: %s\n", error.what());
    return 1;
}
