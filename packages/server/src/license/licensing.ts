// Decides whether a license is active and when it has expired. The license is in license.lic, in a cluster also in the log, or it is the
// trial: a record in the log, because the server has no key to sign a license (decision 0010). Without an active license the server is
// restricted; no data changes.
import type { Engine } from '@annal/engine'
import { ServerError } from '../errors.ts'
import { licenseClockLeewayMs, trialMs } from '../limits.ts'
import { LicenseClock } from './license-clock.ts'
import { type License, readLicense } from './license-file.ts'
import type { LicensePlace } from './license-place.ts'

/** A license and whether it is active. */
export interface LicenseStatus {
  readonly status: 'active' | 'expired'
  readonly license: License
}

/** The license file, the key that verifies it, and the engine. */
export interface LicensingOptions {
  readonly publicKey: string
  readonly place: LicensePlace
  /** In a cluster, a license is activated for all nodes: its text is a setting in the log, which replaces license.lic. */
  readonly isShared?: boolean
  /** Throws while the server has no engine. */
  engine(): Engine
  /** The system time in milliseconds since 1970. */
  readonly now?: () => number
  /** A monotonic time in milliseconds. */
  readonly elapsed?: () => number
}

/** Settings in the log. The time of each record also keeps the license clock from running backward. */
const trialKey = 'license-trial-taken'
const appliedKey = 'license-applied'
const expiredKey = 'license-expired'
const textKey = 'license-text'

/** The license of one data directory. */
export class Licensing {
  readonly #publicKey: string
  readonly #place: LicensePlace
  readonly #isShared: boolean
  readonly #engine: () => Engine
  readonly #clock: LicenseClock
  /** The license of license.lic. */
  #filed: License | undefined
  /** The license of the log, with the text that it was read from. */
  #shared: { readonly text: string; readonly license: License | undefined } | undefined
  #fileFault: string | undefined
  /** Id of the license whose expiry was recorded by this process. */
  #expiryReported = ''
  #isTrialRequested = false

  constructor({ publicKey, place, isShared = false, engine, ...clock }: LicensingOptions) {
    this.#publicKey = publicKey
    this.#place = place
    this.#isShared = isShared
    this.#engine = engine
    this.#clock = new LicenseClock({ engine, ...clock })
  }

  /** Reads license.lic. Call it before the server serves, with the id of the data directory. `fault` describes a problem with the file. */
  async open(directory: string): Promise<void> {
    try {
      const text = await this.#place.read()
      if (text !== undefined) this.#filed = readFor(directory, text, this.#publicKey)
    } catch (error) {
      // The server starts without a license and reports the reason.
      this.#fileFault = error instanceof ServerError ? error.message : 'license.lic cannot be read'
    }
  }

  /** The active license, or the one that expired last; undefined if there never was one. */
  status(): LicenseStatus | undefined {
    const known = [this.#chosen(), this.#trial()].filter((license) => license !== undefined)
    const latest = known.toSorted((a, b) => b.endMs - a.endMs)[0]
    if (latest === undefined) return undefined
    const active = known.find((license) => isActive(license, this.#clock.nowMs()))
    if (active !== undefined) return { status: 'active', license: active }
    this.#recordExpiry(latest)
    return { status: 'expired', license: latest }
  }

  /** Throws license_required unless a license is active. */
  require(): void {
    if (this.status()?.status !== 'active') {
      throw new ServerError('license_required', 'this operation requires an active license')
    }
  }

  /** Milliseconds until the active license ends; 0 if none is active. */
  remainingMs(): number {
    const found = this.status()
    return found?.status === 'active' ? found.license.endMs - this.#clock.nowMs() : 0
  }

  /** When the active license ends, in milliseconds since 1970; 0 if none is active. */
  endMs(): number {
    const found = this.status()
    return found?.status === 'active' ? found.license.endMs : 0
  }

  /** Why no license is active, for operators; undefined if one is. */
  fault(): string | undefined {
    const found = this.status()
    if (found?.status === 'active') return undefined
    if (found !== undefined) return `the license ${found.license.id} ended on ${dayOf(found.license.endMs)}`
    return this.#fileFault === undefined ? 'no license is active' : `no license is active: ${this.#fileFault}`
  }

  /**
   * Activates a license, effective when the promise resolves. With `byRoot`, it replaces any license; otherwise only one that does not
   * end later. Throws license_invalid, license_expired.
   */
  async activate(text: string, { byRoot }: { readonly byRoot: boolean }): Promise<LicenseStatus> {
    const license = this.#check(text)
    const before = this.#chosen()
    if (!byRoot && before !== undefined && isActive(before, this.#clock.nowMs()) && license.endMs < before.endMs) {
      throw new ServerError('license_invalid', 'the active license ends later; only the root token can replace it', {
        field: 'license',
      })
    }
    const { control } = this.#engine()
    await control.putSetting(appliedKey, license.id)
    if (this.#isShared) await control.putSetting(textKey, text.trimEnd())
    else {
      await this.#place.write(`${text.trimEnd()}\n`)
      this.#filed = license
    }
    this.#fileFault = undefined
    return { status: 'active', license }
  }

  /** Starts the trial. Throws trial_taken. */
  async takeTrial(): Promise<LicenseStatus> {
    const { control } = this.#engine()
    if (this.#isTrialRequested || control.setting(trialKey) !== undefined)
      throw new ServerError('trial_taken', 'the trial of this data directory was already used')
    // Set in the same turn as the check, so that only one of two concurrent requests succeeds.
    this.#isTrialRequested = true
    await control.putSetting(trialKey, String(this.#clock.nowMs())).finally(() => {
      this.#isTrialRequested = false
    })
    const license = this.#trial()
    if (license === undefined) throw new ServerError('internal', 'the trial is not recorded in the log')
    return { status: 'active', license }
  }

  /** Notes the time in the log if there is a license. Call it daily and before the engine is closed. */
  async noteTime(): Promise<void> {
    if (this.status() !== undefined) await this.#clock.note()
  }

  /** The license that was activated last. */
  #chosen(): License | undefined {
    const text = this.#isShared ? this.#engine().control.setting(textKey) : undefined
    if (text === undefined) return this.#filed
    if (this.#shared?.text !== text) this.#shared = { text, license: this.#read(text) }
    return this.#shared.license
  }

  #read(text: string): License | undefined {
    try {
      return readFor(this.#engine().id, text, this.#publicKey)
    } catch (error) {
      // Nodes with other vendors' keys read it differently.
      this.#fileFault = (error as Error).message
      return undefined
    }
  }

  #trial(): License | undefined {
    const engine = this.#engine()
    const taken = engine.control.setting(trialKey)
    if (taken === undefined) return undefined
    const startMs = Number(taken)
    const id = `trial-${engine.id.slice(0, 8)}`
    return { id, plan: 'trial', startMs, endMs: startMs + trialMs, directory: engine.id }
  }

  /** Records an expiry in the log, so that it remains true if the system clock is set back. */
  #recordExpiry({ id }: License): void {
    const { control } = this.#engine()
    if (this.#expiryReported === id || control.setting(expiredKey) === id) return
    this.#expiryReported = id
    control
      .putSetting(expiredKey, id)
      .then(() => this.#clock.note())
      .catch(() => {
        // The log accepts no writes at the moment. The next status retries.
        this.#expiryReported = ''
      })
  }

  /** Throws unless the license can be active now in this data directory. */
  #check(text: string): License {
    const license = readLicense(text, this.#publicKey)
    const nowMs = this.#clock.nowMs()
    if (license.directory !== 'any' && license.directory !== this.#engine().id) {
      throw new ServerError('license_invalid', 'the license is for another data directory', { field: 'license' })
    }
    if (license.startMs > nowMs + licenseClockLeewayMs) {
      throw new ServerError('license_invalid', `the license starts on ${dayOf(license.startMs)}`, { field: 'license' })
    }
    if (license.endMs > nowMs) return license
    throw new ServerError('license_expired', `the license ended on ${dayOf(license.endMs)}`, { field: 'license' })
  }
}

/** Accepts a license that has ended, because its end is reported to the operator. */
function readFor(directory: string, text: string, publicKey: string): License {
  const license = readLicense(text.trimEnd(), publicKey)
  if (license.directory === 'any' || license.directory === directory) return license
  throw new ServerError('license_invalid', 'license.lic is for another data directory')
}

function isActive({ startMs, endMs }: License, nowMs: number): boolean {
  return startMs <= nowMs + licenseClockLeewayMs && nowMs < endMs
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
