#include "base/worker_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/kernel.h"

namespace lamina {
namespace {

std::unique_ptr<WorkerPool>& shared_pool() {
  static auto pool = std::make_unique<WorkerPool>(real_kernel());
  // fork(2) copies the pool and none of its threads: what waits for them would
  // wait for ever, and the destructor as well. The child starts with a new one.
  [[maybe_unused]] static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] {
        static_cast<void>(pool.release());
        pool = std::make_unique<WorkerPool>(real_kernel());
      });
  return pool;
}

}  // namespace

TaskGroup::TaskGroup(WorkerPool& pool, dev_t device, unsigned width,
                     Owner owner)
    : pool_(pool),
      device_(device),
      width_(std::max(1U, width)),
      owner_(owner) {
  std::lock_guard lock(pool_.mutex_);
  place_ = pool_.groups_.insert(pool_.groups_.end(), this);
}

TaskGroup::~TaskGroup() {
  std::lock_guard lock(pool_.mutex_);
  discount_owner();
  pool_.groups_.erase(place_);
}

void TaskGroup::count_owner() {
  if (!owner_counted_) {
    owner_counted_ = true;
    ++pool_.active_[device_];
  }
}

void TaskGroup::discount_owner() {
  if (std::exchange(owner_counted_, false)) {
    if (--pool_.active_[device_] == 0) {
      pool_.active_.erase(device_);
    }
    // Its place is free for a helper of another group.
    pool_.wake_.notify_one();
  }
}

void TaskGroup::submit(std::unique_ptr<Task> task) {
  std::lock_guard lock(pool_.mutex_);
  if (owner_ == Owner::waits) {
    // Before run(), or helpers would take the place that it comes to fill.
    count_owner();
  }
  queue_.push_back(std::move(task));
  ++outstanding_;
  changed_.notify_one();
  // A waiting owner will run the first task itself; only what that splits off
  // is for others.
  size_t own = owner_ == Owner::waits ? 1 : 0;
  if (width_ > 1 && outstanding_ > own) {
    if (pool_.idle_ == 0) {
      pool_.start_thread();
    }
    pool_.wake_.notify_one();
  }
}

size_t TaskGroup::waiting() const {
  std::lock_guard lock(pool_.mutex_);
  return queue_.size();
}

std::unique_ptr<Task> TaskGroup::take() {
  std::unique_ptr<Task> task;
  if (owner_ == Owner::produces) {
    task = std::move(queue_.front());
    queue_.pop_front();
  } else {
    task = std::move(queue_.back());
    queue_.pop_back();
  }
  return task;
}

bool TaskGroup::help() {
  std::unique_lock lock(pool_.mutex_);
  if (queue_.empty()) {
    return false;
  }
  Worker worker;
  pool_.run_task(*this, take(), worker, lock);
  return true;
}

bool TaskGroup::hungry() const {
  if (width_ <= 1) {
    return false;
  }
  std::lock_guard lock(pool_.mutex_);
  auto active = pool_.active_.find(device_);
  unsigned busy = active == pool_.active_.end() ? 0 : active->second;
  // An owner without work keeps its place, and would take some at once.
  return queue_.empty() && (owner_idle_ || busy < width_);
}

unsigned TaskGroup::workers_used() const {
  std::lock_guard lock(pool_.mutex_);
  return 1 + most_helpers_;
}

void TaskGroup::run() {
  std::unique_lock lock(pool_.mutex_);
  Worker worker;
  count_owner();
  while (outstanding_ > 0) {
    if (queue_.empty()) {
      owner_idle_ = true;
      changed_.wait(lock);
      owner_idle_ = false;
      continue;
    }
    pool_.run_task(*this, take(), worker, lock);
  }
  discount_owner();
  if (thrown_) {
    std::exception_ptr thrown = std::exchange(thrown_, nullptr);
    lock.unlock();
    std::rethrow_exception(thrown);
  }
}

WorkerPool::WorkerPool(Kernel& kernel)
    : kernel_(kernel) {}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

WorkerPool& WorkerPool::shared() {
  return *shared_pool();
}

size_t WorkerPool::threads() const {
  std::lock_guard lock(mutex_);
  return threads_.size();
}

void WorkerPool::start_thread() {
  // Never more threads than could ever be busy at once.
  unsigned most = 0;
  for (const TaskGroup* group : groups_) {
    most = std::max(most, group->width_ - 1);
  }
  if (threads_.size() >= most * std::max<size_t>(1, groups_.size())) {
    return;
  }
  try {
    threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // No thread to be had (RLIMIT_NPROC, pids cgroup): the callers work alone.
  }
}

TaskGroup* WorkerPool::next_group() {
  for (auto it = groups_.begin(); it != groups_.end(); ++it) {
    TaskGroup* group = *it;
    if (group->queue_.empty()) {
      continue;
    }
    auto active = active_.find(group->device_);
    if (active != active_.end() && active->second >= group->width_) {
      continue;
    }
    groups_.splice(groups_.end(), groups_, it);  // Turns go round.
    return group;
  }
  return nullptr;
}

bool WorkerPool::others_wait(const TaskGroup& group) const {
  return std::any_of(groups_.begin(), groups_.end(), [&](TaskGroup* other) {
    return other != &group && !other->queue_.empty();
  });
}

void WorkerPool::run_task(TaskGroup& group, std::unique_ptr<Task> task,
                          Worker& worker, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  Task::Turn turn = Task::Turn::done;
  std::exception_ptr thrown;
  try {
    turn = task->run(worker);
  } catch (...) {
    thrown = std::current_exception();
  }
  if (turn == Task::Turn::done) {
    task.reset();  // Outside the lock: it may close many descriptors.
  }
  lock.lock();
  if (thrown) {
    if (!group.thrown_) {
      group.thrown_ = thrown;
    }
    group.outstanding_ -= group.queue_.size();
    group.queue_.clear();
  }
  if (turn == Task::Turn::again) {
    group.queue_.push_back(std::move(task));
    return;
  }
  if (--group.outstanding_ == 0) {
    group.changed_.notify_one();
  }
}

void WorkerPool::work() {
  Worker worker;
  worker.has_own_umask = kernel_.unshare_umask() == 0;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    TaskGroup* group = next_group();
    if (group == nullptr) {
      ++idle_;
      wake_.wait(lock);
      --idle_;
      continue;
    }
    ++active_[group->device_];
    ++group->helpers_;
    group->most_helpers_ = std::max(group->most_helpers_, group->helpers_);
    do {
      run_task(*group, group->take(), worker, lock);
    } while (!group->queue_.empty() && !others_wait(*group));
    --group->helpers_;
    --active_[group->device_];
    if (group->outstanding_ == 0 || !group->queue_.empty()) {
      group->changed_.notify_one();
    }
    wake_.notify_one();
  }
}

unsigned usable_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    return 1;
  }
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace lamina
