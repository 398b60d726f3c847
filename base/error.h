// Errors as values: which operation, on what, why.
//
// An Error is a small value that any thread may make, copy and hand on. It is
// made by last_error() immediately after the failed call and is never logged
// below daemon/ and cli/. It holds no owned resources.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace lamina {

struct Error {
  // An errno value (errno(3)); 0 when no system call was refused and `text`
  // says what is wrong instead.
  int code = 0;
  // The operation, in the field's words: "openat", "ioctl(FICLONE)".
  std::string op;
  // The object, as raw bytes: a path relative to the tree, or a path as the
  // caller gave it. Escaped only when shown.
  std::string subject;
  // Why, in words, where an errno says too little. May be empty.
  std::string text;

  // One line for people:
  // "ioctl(FICLONE) on 'usr/bin/env': Invalid cross-device link (EXDEV)".
  // Bytes that could confuse a terminal are escaped (see escape_name).
  std::string message() const;

  friend bool operator==(const Error&, const Error&) = default;
};

template <typename T>
using Result = tl::expected<T, Error>;

// Makes an Error from errno as the last system call left it.
Error last_error(std::string_view op, std::string_view subject);

// Makes an Error with a given errno value and, optionally, words of its own.
Error make_error(int code, std::string_view op, std::string_view subject,
                 std::string_view text = {});

// Returns an unexpected Error, for a return statement.
inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

// Escapes a file name for a message: control characters, DEL, quote, backslash
// and bytes that are not valid UTF-8 become \n, \t, \', \\ or \xHH.
std::string escape_name(std::string_view name);

// True for an errno that says a resource ran out, so that retrying the work in
// another way only disguises it: ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM.
bool is_exhaustion(int code);

}  // namespace lamina

// Returns the error of `expr` from the enclosing function, if it has one.
#define TRY(expr)                                            \
  do {                                                       \
    if (auto try_result_ = (expr); !try_result_) {           \
      return ::lamina::fail(std::move(try_result_.error())); \
    }                                                        \
  } while (false)

#define LAMINA_JOIN_(a, b) a##b
#define LAMINA_JOIN(a, b) LAMINA_JOIN_(a, b)

// Declares `decl` with the value of `expr`, or returns its error.
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot have them.
#define TRY_ASSIGN(decl, expr)                                 \
  auto LAMINA_JOIN(try_value_, __LINE__) = (expr);             \
  if (!LAMINA_JOIN(try_value_, __LINE__)) {                    \
    return ::lamina::fail(                                     \
        std::move(LAMINA_JOIN(try_value_, __LINE__).error())); \
  }                                                            \
  decl = std::move(*LAMINA_JOIN(try_value_, __LINE__))
// NOLINTEND(bugprone-macro-parentheses)
