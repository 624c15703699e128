// Package schedule runs tasks that need memory on devices that have so much of it:
// build the tasks, execute them, collect what they left, in the order of the tasks.
// It knows nothing of what a task computes.
//
// A task says how much memory it will take, and is started where that can be reserved.
// At most four fifths of a device are reserved at once, less what is pinned there for
// longer, or what its owner says if that is less. Tasks are sorted by their memory, largest first, and whatever fits is
// started (greedy backfilling), on the device with its data (its affinity) first and on others where these
// have nothing of their own to do. A task that smaller ones have overtaken for long
// enough gets a device kept free for it. Memory is released when the worker has drained,
// after an error too.
//
// A task must be such that it can be run again elsewhere: it is, alone and then on a
// host, when memory was short, and on other devices when its own was lost. Panics
// become errors. After a failure nothing more of the same call is started, and all
// errors are reported, by task.
package schedule
