// Reads from the monitors of the NATS servers whether they sync each message before they confirm it. No client of NATS can see that
// otherwise.
import { setTimeout as sleep } from 'node:timers/promises'
import type { SyncInterval } from './cluster-view.ts'

/** A server of NATS that could lose confirmed messages: it does not sync them, or no cluster was tested with its version. */
export class WeakServerError extends Error {
  override readonly name = 'WeakServerError'
  readonly code = 'nats_weak'
}

/** What a node uses of the reply of `/varz`. `sync_always` is absent if it is false. */
interface ServerVariables {
  readonly server_name?: string
  readonly jetstream?: { readonly config?: { readonly sync_always?: boolean } }
}

interface Finding {
  readonly syncInterval: SyncInterval
  readonly sentence: string
}

const answerMsMax = 3000
/** A server that restarts with other settings is noticed after this time. */
const readEveryMs = 5000

/** The monitors of the NATS servers of a cluster. */
export class SyncMonitor {
  readonly #urls: readonly string[]
  readonly #onNotice: ((sentence: string) => void) | undefined
  #findings: readonly Finding[] = []
  #noticed = ''

  constructor(urls: readonly string[], onNotice?: (sentence: string) => void) {
    this.#urls = urls
    this.#onNotice = onNotice
  }

  /** As of the newest reading. */
  get syncInterval(): SyncInterval {
    if (this.#findings.some(({ syncInterval }) => syncInterval === 'weak')) return 'weak'
    const isVerified = this.#findings.length > 0 && this.#findings.every((each) => each.syncInterval === 'always')
    return isVerified ? 'always' : 'unverified'
  }

  /** A sentence for each server that does not sync each message. */
  faults(): readonly string[] {
    return this.#findings.filter(({ syncInterval }) => syncInterval === 'weak').map(({ sentence }) => sentence)
  }

  /** Reads all monitors. Gives a notice for what is not as it should be, once. */
  async read(): Promise<void> {
    this.#findings = await Promise.all(this.#urls.map(findingOf))
    const sentences = this.#findings.map(({ sentence }) => sentence).filter((sentence) => sentence !== '')
    const noticed = sentences.join('; ')
    if (noticed !== this.#noticed && noticed !== '') this.#onNotice?.(noticed)
    this.#noticed = noticed
  }

  /** Reads all monitors. Throws WeakServerError if a server does not sync each message. */
  async verify(): Promise<void> {
    await this.read()
    const [fault] = this.faults()
    if (fault !== undefined) throw new WeakServerError(fault)
  }

  /** Reads all monitors now and then, until the signal. */
  async watch(signal: AbortSignal): Promise<void> {
    while (this.#urls.length > 0 && !signal.aborted) {
      await sleep(readEveryMs, undefined, { signal, ref: false }).catch(() => undefined)
      if (!signal.aborted) await this.read()
    }
  }
}

async function findingOf(url: string): Promise<Finding> {
  try {
    const { server_name: name = 'NATS', jetstream } = await variablesOf(url)
    if (jetstream?.config === undefined) throw new Error('the reply is not that of a NATS server with JetStream')
    if (jetstream.config.sync_always === true) return { syncInterval: 'always', sentence: '' }
    const sentence = `the NATS server ${name} (${url}) does not sync each message: set \`sync_interval: always\` in its \`jetstream\` block. A power cut could lose acknowledged writes.`
    return { syncInterval: 'weak', sentence }
  } catch (error) {
    const { cause = error } = error as { readonly cause?: unknown }
    const { code, message } = cause as { readonly code?: unknown; readonly message: string }
    const reason = typeof code === 'string' ? code : message
    return {
      syncInterval: 'unverified',
      sentence: `the monitor ${url} (NDD_CLUSTER_MONITOR_URL) does not say whether its NATS server syncs each message: ${reason}`,
    }
  }
}

async function variablesOf(url: string): Promise<ServerVariables> {
  const response = await fetch(`${url}/varz`, { signal: AbortSignal.timeout(answerMsMax) })
  if (!response.ok) throw new Error(`status ${response.status}`)
  return (await response.json()) as ServerVariables
}
