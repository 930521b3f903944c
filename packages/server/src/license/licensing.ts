// Whether a license is active. It comes from license.lic, or is the trial: a record in the log, because the server has no key to sign a
// license (decision 0010). A license problem restricts the server and changes no data.
import type { Engine } from '@annal/engine'
import { ServerError } from '../http/errors.ts'
import { licenseClockLeewayMs, trialMs } from '../http/limits.ts'
import { type License, readLicense } from './license-file.ts'
import type { LicensePlace } from './license-place.ts'

export interface LicenseStatus {
  readonly status: 'active' | 'expired'
  readonly license: License
}

export interface Licensing {
  /** Applies the license file of the directory with this id; called before the server serves. `fault` describes a problem with it. */
  open(directory: string): Promise<void>
  /** Undefined: there never was one. */
  status(): LicenseStatus | undefined
  /** Throws license_required. */
  require(): void
  /** Why nothing is active, for operators; undefined when something is. */
  fault(): string | undefined
  /**
   * In force when it resolves. `byRoot` may put any in the place of the one in force, others only one that ends later. Throws
   * license_invalid, license_expired.
   */
  activate(text: string, options: { readonly byRoot: boolean }): Promise<LicenseStatus>
  /** Throws trial_taken. */
  takeTrial(): Promise<LicenseStatus>
  /** Writes down how late it is where the log does not say it yet. To be called now and then, and before the engine is closed. */
  noteTime(): Promise<void>
}

export interface LicensingOptions {
  readonly publicKey: string
  readonly place: LicensePlace
  /** Throws while there is none. */
  engine(): Engine
  readonly now?: () => number
  /** Milliseconds that go on whatever is done to the clock. */
  readonly elapsed?: () => number
}

/** Keys of settings in the log. Each is also a moment that the clock cannot be set back behind. */
const trialKey = 'license-trial-taken'
const appliedKey = 'license-applied'
const expiredKey = 'license-expired'
const seenKey = 'license-time-seen'
/** The log need not know it more exactly. */
const seenStepMs = 3_600_000

export function createLicensing(options: LicensingOptions): Licensing {
  const { publicKey, place, engine, now = Date.now, elapsed = () => performance.now() } = options
  let filed: License | undefined
  let fileFault: string | undefined
  let expiryReported = ''
  let trialRequested = false

  let seen: { readonly ms: number; readonly clockMs: number } | undefined

  const notedMs = (): number => Math.max(engine().timeMs, Number(engine().control.setting(seenKey) ?? 0))

  /** At least the newest time in the log when this process started, plus the time since then. */
  const seenMs = (): number => {
    seen ??= { ms: notedMs(), clockMs: elapsed() }
    return seen.ms + elapsed() - seen.clockMs
  }

  /**
   * Never earlier than any time in the log: setting the clock back does not reactivate a license, also if nothing was written before.
   */
  const today = (): number => Math.max(now(), engine().timeMs, seenMs())

  const noteTime = async (): Promise<void> => {
    if (today() >= notedMs() + seenStepMs) await engine().control.putSetting(seenKey, String(Math.floor(today())))
  }

  const trial = (): License | undefined => {
    const taken = engine().control.setting(trialKey)
    if (taken === undefined) return undefined
    const startMs = Number(taken)
    const id = `trial-${engine().id.slice(0, 8)}`
    return { id, plan: 'trial', startMs, endMs: startMs + trialMs, directory: engine().id }
  }

  /** Once an expiry was seen it is in the log, and stays true whatever the clock says later. */
  const tellExpiry = ({ id }: License): void => {
    if (expiryReported === id || engine().control.setting(expiredKey) === id) return
    expiryReported = id
    engine()
      .control.putSetting(expiredKey, id)
      .then(noteTime)
      .catch(() => {
        // The log takes no writes just now; the next question tries again.
        expiryReported = ''
      })
  }

  const status = (): LicenseStatus | undefined => {
    const known = [filed, trial()].filter((license) => license !== undefined)
    const latest = known.toSorted((a, b) => b.endMs - a.endMs)[0]
    if (latest === undefined) return undefined
    const active = known.find((license) => isInForce(license, today()))
    if (active !== undefined) return { status: 'active', license: active }
    tellExpiry(latest)
    return { status: 'expired', license: latest }
  }

  /** Throws what keeps a license from being in force here. */
  const judged = (text: string): License => {
    const license = readLicense(text, publicKey)
    if (license.directory !== 'any' && license.directory !== engine().id) {
      throw new ServerError('license_invalid', 'the license is for another data directory', { field: 'license' })
    }
    if (license.startMs > today() + licenseClockLeewayMs) {
      throw new ServerError('license_invalid', `the license starts on ${dayOf(license.startMs)}`, { field: 'license' })
    }
    if (license.endMs > today()) return license
    throw new ServerError('license_expired', `the license ended on ${dayOf(license.endMs)}`, { field: 'license' })
  }

  return {
    status,
    async open(directory) {
      try {
        const text = await place.read()
        if (text !== undefined) filed = kept(text, publicKey, directory)
      } catch (error) {
        // Restricted, and nothing worse: the server starts and says why.
        fileFault = error instanceof ServerError ? error.message : 'license.lic cannot be read'
      }
    },
    require() {
      if (status()?.status !== 'active') {
        throw new ServerError('license_required', 'this operation requires an active license')
      }
    },
    fault() {
      const found = status()
      if (found?.status === 'active') return undefined
      if (found !== undefined) return `the license ${found.license.id} ended on ${dayOf(found.license.endMs)}`
      return fileFault === undefined ? 'no license is active' : `no license is active: ${fileFault}`
    },
    async activate(text, { byRoot }) {
      const license = judged(text)
      if (!byRoot && filed !== undefined && isInForce(filed, today()) && license.endMs < filed.endMs) {
        throw new ServerError('license_invalid', 'the active license ends later; only the root token can replace it', {
          field: 'license',
        })
      }
      await engine().control.putSetting(appliedKey, license.id)
      await place.write(`${text.trimEnd()}\n`)
      filed = license
      fileFault = undefined
      return { status: 'active', license }
    },
    async noteTime() {
      if (status() !== undefined) await noteTime()
    },
    async takeTrial() {
      const { control } = engine()
      if (trialRequested || control.setting(trialKey) !== undefined)
        throw new ServerError('trial_taken', 'the trial of this data directory was already used')
      // Set in the turn of the check: of two who ask at once one gets it.
      trialRequested = true
      await control.putSetting(trialKey, String(today())).finally(() => {
        trialRequested = false
      })
      const license = trial()
      if (license === undefined) throw new ServerError('internal', 'the trial is not recorded in the log')
      return { status: 'active', license }
    },
  }
}

/** A file that was applied once stays what it is when it has ended: its end is what people want to know. */
function kept(text: string, publicKey: string, directory: string): License {
  const license = readLicense(text.trimEnd(), publicKey)
  if (license.directory === 'any' || license.directory === directory) return license
  throw new ServerError('license_invalid', 'license.lic is for another data directory')
}

function isInForce({ startMs, endMs }: License, nowMs: number): boolean {
  return startMs <= nowMs + licenseClockLeewayMs && nowMs < endMs
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
