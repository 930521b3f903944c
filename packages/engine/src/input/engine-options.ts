// Checks the options of an engine.
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { EngineError } from '../errors.ts'
import {
  asOfLoadedBytesDefault,
  asOfWindowBytesDefault,
  asOfWindowSecondsDefault,
  type Limits,
  limitsConfigurable,
  limitsDefault,
  requestKeyHoursDefault,
  requestKeyHoursMax,
  requestKeysConfigurable,
  requestKeysDefault,
} from '../limits.ts'
import type { Clock, EngineOptions } from '../model/engine.ts'
import { checkObject, printed, shownValue } from '../model/ids.ts'
import { readersMax } from '../vector/threads/reader-slots.ts'

const threadsMax = 16
const hourMs = 3_600_000

/** Resolves to an absolute path, so that a later change of the working directory has no effect. */
export function checkedDataDir(dataDir: unknown, field = 'dataDir'): string {
  if (typeof dataDir === 'string' && dataDir !== '') return resolve(dataDir)
  throw new EngineError('invalid_argument', `${field} must be the path of a directory`, { field })
}

/** The clock of the system by default. Throws invalid_argument. */
export function checkedClock(clock: EngineOptions['clock'] = { now: Date.now }): Clock {
  // A caller without types may give anything.
  if (typeof (clock as Partial<Clock> | null)?.now === 'function') return clock
  const message = `clock must be an object with a function now, got ${printed(clock)}`
  throw new EngineError('invalid_argument', message, { field: 'clock', value: shownValue(clock) })
}

export function checkedLimits(wanted: Partial<Limits> = {}): Limits {
  checkObject(wanted, 'limits')
  for (const [name, value] of Object.entries(wanted)) {
    const limit = limitsConfigurable[name as keyof Limits]
    if (limit === undefined || !Number.isInteger(value) || value < 1 || value > limit) {
      throw new EngineError(
        'invalid_argument',
        `limits.${name} is ${printed(value)}, but it must be a whole number from 1 to ${limit}`,
        {
          field: `limits.${name}`,
          value: shownValue(value),
          limit,
        },
      )
    }
  }
  return { ...limitsDefault, ...wanted }
}

export function checkedRequestKeys(
  options: EngineOptions['requestKeys'] = {},
): Required<NonNullable<EngineOptions['requestKeys']>> {
  checkObject(options, 'requestKeys')
  const { max = requestKeysDefault, maxAgeMs = requestKeyHoursDefault * hourMs } = options
  const wanted = { max, maxAgeMs }
  const limits = { max: requestKeysConfigurable, maxAgeMs: requestKeyHoursMax * hourMs }
  for (const name of ['max', 'maxAgeMs'] as const) {
    const [value, limit] = [wanted[name], limits[name]]
    if (Number.isInteger(value) && value >= 1 && value <= limit) continue
    throw new EngineError(
      'invalid_argument',
      `requestKeys.${name} is ${printed(value)}, but it must be a whole number from 1 to ${limit}`,
      { field: `requestKeys.${name}`, value: shownValue(value), limit },
    )
  }
  return wanted
}

/** Throws invalid_argument. */
export function checkedAsOf(options: EngineOptions['asOf'] = {}): Required<NonNullable<EngineOptions['asOf']>> {
  checkObject(options, 'asOf')
  const {
    loadedBytesMax = asOfLoadedBytesDefault,
    windowSeconds = asOfWindowSecondsDefault,
    windowBytesMax = asOfWindowBytesDefault,
  } = options
  const wanted = { loadedBytesMax, windowSeconds, windowBytesMax }
  for (const [name, value] of Object.entries(wanted)) {
    if (Number.isSafeInteger(value) && value >= 0) continue
    throw new EngineError(
      'invalid_argument',
      `asOf.${name} is ${printed(value)}, but it must be a whole number from 0 on`,
      {
        field: `asOf.${name}`,
        value: shownValue(value),
        limit: 0,
      },
    )
  }
  return wanted
}

/** Least value of `memory.bytesMax`: a process without collections has about 100 MiB. */
const memoryBytesMin = 64 * 1024 * 1024

/** Throws invalid_argument. Undefined: nothing is refused. */
export function checkedMemory(wanted: EngineOptions['memory'] = {}): Exclude<EngineOptions['memory'], false> {
  if (wanted === false) return undefined
  checkObject(wanted, 'memory')
  const { bytesMax } = wanted
  if (bytesMax === undefined || (Number.isSafeInteger(bytesMax) && bytesMax >= memoryBytesMin)) return wanted
  throw new EngineError(
    'invalid_argument',
    `memory.bytesMax is ${printed(bytesMax)}, but it must be a whole number from ${memoryBytesMin} on`,
    { field: 'memory.bytesMax', value: shownValue(bytesMax), limit: memoryBytesMin },
  )
}

export function checkedThreads(wanted: number | undefined): number {
  const threads = wanted ?? Math.min(availableParallelism(), threadsMax)
  if (Number.isInteger(threads) && threads >= 1 && threads <= threadsMax) return threads
  throw new EngineError(
    'invalid_argument',
    `threads is ${printed(wanted)}, but it must be a whole number from 1 to ${threadsMax}`,
    {
      field: 'threads',
      value: shownValue(wanted),
      limit: threadsMax,
    },
  )
}

export function checkedReaders(wanted: number | undefined): number {
  const readers = wanted ?? 0
  if (Number.isInteger(readers) && readers >= 0 && readers <= readersMax) return readers
  throw new EngineError(
    'invalid_argument',
    `readers is ${printed(wanted)}, but it must be a whole number from 0 to ${readersMax}`,
    { field: 'readers', value: shownValue(wanted), limit: readersMax },
  )
}
