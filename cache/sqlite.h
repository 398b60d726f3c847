// SQLite's handles, owned, with errors as values.
//
// A Database and its Statements are for one thread at a time. Errors carry the
// database's own words.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace lamina::cache {

// One statement, prepared once and run as often as wanted.
//
//   TRY(statement.bind(1, key)); TRY_ASSIGN(bool row, statement.step()); ...
//   statement.reset();
class Statement {
 public:
  Statement() = default;

  // Parameters count from 1. Text is bound as a blob: keys are opaque bytes.
  Statement& bind(int at, int64_t value);
  Statement& bind(int at, std::string_view bytes);

  // Moves to the next row; false when there is none.
  Result<bool> step();
  // Runs to the end and makes ready for the next time.
  Result<void> run();
  // Forgets row and parameters.
  void reset();

  // Columns count from 0.
  int64_t integer(int at) const;
  std::string bytes(int at) const;

 private:
  friend class Database;

  struct Free {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Free> statement_;
  const std::string* shown_ = nullptr;
  int bound_ = 0;  // The first code that a bind did not like.
};

class Database {
 public:
  // Opens or makes the file at `path`, called `shown` in errors. Waits for
  // others' locks for a minute.
  Result<void> open(const std::string& path, std::string_view shown);
  bool is_open() const { return database_ != nullptr; }

  Result<void> run(const char* sql);
  Result<Statement> prepare(std::string_view sql);
  int64_t last_row() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
  std::unique_ptr<std::string> shown_;
};

// A transaction that is rolled back unless it is committed.
class Transaction {
 public:
  explicit Transaction(Database& database)
      : database_(database) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  // Takes the lock for writing, so that what is read next stays so.
  Result<void> begin();
  Result<void> commit();

 private:
  Database& database_;
  bool begun_ = false;
};

}  // namespace lamina::cache
