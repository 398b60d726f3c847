#include "cache/sqlite.h"

#include <sqlite3.h>

namespace lamina::cache {

namespace {

constexpr int kPatienceMs = 60'000;

Error sqlite_error(sqlite3* database, std::string_view shown) {
  return make_error(
      0, "sqlite", shown,
      database == nullptr ? "out of memory" : sqlite3_errmsg(database));
}

}  // namespace

void Statement::Free::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement& Statement::bind(int at, int64_t value) {
  int code = sqlite3_bind_int64(statement_.get(), at, value);
  bound_ = bound_ == SQLITE_OK ? code : bound_;
  return *this;
}

Statement& Statement::bind(int at, std::string_view bytes) {
  // A null pointer would bind NULL.
  const char* data = bytes.data() == nullptr ? "" : bytes.data();
  int code = sqlite3_bind_blob64(statement_.get(), at, data, bytes.size(),
                                 SQLITE_TRANSIENT);
  bound_ = bound_ == SQLITE_OK ? code : bound_;
  return *this;
}

Result<bool> Statement::step() {
  if (bound_ != SQLITE_OK) {
    return fail(make_error(0, "sqlite", *shown_, sqlite3_errstr(bound_)));
  }
  int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code == SQLITE_DONE) {
    return false;
  }
  Error error = sqlite_error(sqlite3_db_handle(statement_.get()), *shown_);
  reset();
  return fail(std::move(error));
}

Result<void> Statement::run() {
  for (;;) {
    TRY_ASSIGN(bool row, step());
    if (!row) {
      reset();
      return {};
    }
  }
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  bound_ = SQLITE_OK;
}

int64_t Statement::integer(int at) const {
  return sqlite3_column_int64(statement_.get(), at);
}

std::string Statement::bytes(int at) const {
  const void* data = sqlite3_column_blob(statement_.get(), at);
  int size = sqlite3_column_bytes(statement_.get(), at);
  return data == nullptr ? std::string()
                         : std::string(static_cast<const char*>(data),
                                       static_cast<size_t>(size));
}

void Database::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

Result<void> Database::open(const std::string& path, std::string_view shown) {
  shown_ = std::make_unique<std::string>(shown);
  sqlite3* opened = nullptr;
  int code = sqlite3_open_v2(
      path.c_str(), &opened,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
      nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) {
    Error error = sqlite_error(opened, *shown_);
    database_.reset();
    return fail(std::move(error));
  }
  sqlite3_busy_timeout(opened, kPatienceMs);
  return {};
}

Result<void> Database::run(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) !=
      SQLITE_OK) {
    return fail(sqlite_error(database_.get(), *shown_));
  }
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  Statement out;
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v3(
          database_.get(), sql.data(), static_cast<int>(sql.size()),
          SQLITE_PREPARE_PERSISTENT, &made, nullptr) != SQLITE_OK) {
    return fail(sqlite_error(database_.get(), *shown_));
  }
  out.statement_.reset(made);
  out.shown_ = shown_.get();
  return out;
}

int64_t Database::last_row() const {
  return sqlite3_last_insert_rowid(database_.get());
}

Transaction::~Transaction() {
  if (begun_) {
    // What led here is the error to tell.
    [[maybe_unused]] auto ignored = database_.run("ROLLBACK");
  }
}

Result<void> Transaction::begin() {
  TRY(database_.run("BEGIN IMMEDIATE"));
  begun_ = true;
  return {};
}

Result<void> Transaction::commit() {
  TRY(database_.run("COMMIT"));
  begun_ = false;
  return {};
}

}  // namespace lamina::cache
