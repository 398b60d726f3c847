// One pool of threads for every copy, apply, batch and removal of a process.
//
// A request makes a TaskGroup, submits its first tasks and calls run(): the
// calling thread works for its own request until all tasks are done, so that a
// small request never waits for a large one; idle pool threads help. Pool
// threads take work from the groups in turn, one bounded Task::run() at a time,
// and no more of them work towards one device than the group's width allows,
// the calling threads counted from their first submit() on. With width 1 no
// thread is ever started, and where a thread cannot be started the calling
// thread does the work.
//
// 1. TaskGroup group(pool, device, width);
// 2. group.submit(std::make_unique<MyTask>(...));
// 3. group.run();   // returns when every task, and all they submitted, is done
//
// submit() and hungry() may be called by any thread, run() by the owner only.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lamina {

class Kernel;
class WorkerPool;

// What a task may know of the thread that runs it.
struct Worker {
  // True for pool threads that have a umask of their own, set to 0 (see
  // Kernel::unshare_umask). The caller's thread keeps the caller's umask.
  bool has_own_umask = false;
};

class Task {
 public:
  enum class Turn { done, again };

  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

  // Does a bounded piece of work (at most 64 entries or 16 MiB) and says
  // whether more remains. May run on another thread next time; never on two at
  // once.
  virtual Turn run(Worker& worker) = 0;
};

// What the thread that owns a group does between submit() and run(): nothing,
// or it makes more tasks, so that all of them are for others.
enum class Owner { waits, produces };

class TaskGroup {
 public:
  // Work towards `device` (st_dev of the destination) by at most `width`
  // threads. The pool must outlive the group.
  TaskGroup(WorkerPool& pool, dev_t device, unsigned width,
            Owner owner = Owner::waits);
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  // Requires that run() has returned, or that nothing was submitted.
  ~TaskGroup();

  // Adds a task. The newest is taken first, which keeps walks depth-first; the
  // oldest where the owner produces.
  void submit(std::unique_ptr<Task> task);

  // Tasks submitted and not yet begun.
  size_t waiting() const;

  // Runs one turn of a waiting task on the calling thread; false when none
  // waits. A producer that is ahead of its helpers works off its own queue with
  // this.
  bool help();

  // True when another task could be started at once by somebody else: the
  // moment for a large task to split.
  bool hungry() const;

  // Works until all tasks are done. Rethrows the first exception that left a
  // task; tasks not begun by then are dropped.
  void run();

  // How many threads have worked for this group, the caller counted.
  unsigned workers_used() const;

 private:
  friend class WorkerPool;

  // These require the pool's mutex; take() a queue that is not empty.
  std::unique_ptr<Task> take();
  void count_owner();
  void discount_owner();

  WorkerPool& pool_;
  const dev_t device_;
  const unsigned width_;
  const Owner owner_;
  // All below is guarded by the pool's mutex.
  bool owner_counted_ = false;
  bool owner_idle_ = false;  // In run(), and nothing is left to take.
  std::deque<std::unique_ptr<Task>> queue_;
  size_t outstanding_ = 0;
  unsigned helpers_ = 0;
  unsigned most_helpers_ = 0;
  std::exception_ptr thrown_;
  std::condition_variable changed_;
  std::list<TaskGroup*>::iterator place_;
};

class WorkerPool {
 public:
  explicit WorkerPool(Kernel& kernel);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  // Joins its threads. Requires that no group is left.
  ~WorkerPool();

  // The pool that a process shares by default; after fork(2) the child has one
  // of its own.
  static WorkerPool& shared();

  // Threads started so far; for tests and for `lamina status`.
  size_t threads() const;

 private:
  friend class TaskGroup;

  void work();
  // All of these require the mutex.
  TaskGroup* next_group();
  void start_thread();
  void run_task(TaskGroup& group, std::unique_ptr<Task> task, Worker& worker,
                std::unique_lock<std::mutex>& lock);
  bool others_wait(const TaskGroup& group) const;

  Kernel& kernel_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::list<TaskGroup*> groups_;
  std::map<dev_t, unsigned> active_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool stopping_ = false;
};

// The number of CPUs this process may run on, at least 1. sched_getaffinity(2).
unsigned usable_cpus();

}  // namespace lamina
