// What tap uses of `async-hook-domain`, without hooks for promises: an uncaught error or rejection goes to the test that started last and
// runs. The tests of a file run one after the other, so this is the innermost one that runs. As there, a listener of the process takes
// precedence, and without a domain the process ends.
import { executionAsyncResource } from 'node:async_hooks'

/** In the order of their creation, which for tests of one level is before the first of them starts. */
const living = new Set()
let starts = 0

export class Domain {
  /** Its place in the order of starts; 0 before. */
  started = 0

  constructor(onerror) {
    this.onerror = onerror
    this.#watchStart()
    living.add(this)
    if (living.size === 1) watch()
  }

  destroy() {
    if (living.delete(this) && living.size === 0) unwatch()
  }

  /** tap creates a domain in the scope of a test, and enters the scope again when the test starts. */
  #watchStart() {
    const scope = executionAsyncResource()
    if (typeof scope.runInAsyncScope !== 'function') return
    const enter = scope.runInAsyncScope
    scope.runInAsyncScope = (...args) => {
      if (this.started === 0) this.started = ++starts
      return enter.apply(scope, args)
    }
  }
}

const plainEmit = process.emit

function watch() {
  process.on('uncaughtExceptionMonitor', monitor)
  process.emit = emit
}

function unwatch() {
  process.off('uncaughtExceptionMonitor', monitor)
  process.emit = plainEmit
}

/** A listener for rejections would change what the programs under test do. */
function emit(event, ...args) {
  if (event !== 'unhandledRejection' || process.listenerCount(event) > 0) return plainEmit.call(process, event, ...args)
  return take(args[0], event)
}

function monitor(error, origin) {
  if (!take(error, origin)) return
  // The process goes on this once.
  process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null))
}

/** Whether a domain took the error. */
function take(error, origin) {
  if (process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0) return false
  const [first, ...others] = living
  if (first === undefined) return false
  others.reduce((last, domain) => (domain.started > last.started ? domain : last), first).onerror(error, origin)
  return true
}
