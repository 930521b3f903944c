// Reads from the monitors of the NATS servers whether they sync each message before they confirm it. No client of NATS can see that
// otherwise.

/** A server of NATS that could lose confirmed messages in a power cut. */
export class WeakServerError extends Error {
  override readonly name = 'WeakServerError'
  readonly code = 'nats_weak'
}

interface ServerVariables {
  readonly server_name?: string
  readonly jetstream?: { readonly config?: { readonly sync_always?: boolean } }
}

const answerMsMax = 3000

/**
 * Returns `always` if every monitor says so, and `unverified` without monitors or if one does not answer. Throws WeakServerError if a
 * server syncs later.
 */
export async function readSyncInterval(monitorUrls: readonly string[]): Promise<'always' | 'unverified'> {
  const answers = await Promise.all(monitorUrls.map((url) => variablesOf(url).catch(() => undefined)))
  const weak = answers.findIndex((answer) => answer !== undefined && answer.jetstream?.config?.sync_always !== true)
  if (weak >= 0) {
    const { server_name: name = 'NATS' } = answers[weak] ?? {}
    throw new WeakServerError(
      `the NATS server ${name} (${monitorUrls[weak]}) does not sync each message: set \`sync_interval: always\` in its \`jetstream\` block. A power cut could lose acknowledged writes.`,
    )
  }
  return answers.length > 0 && answers.every((answer) => answer !== undefined) ? 'always' : 'unverified'
}

async function variablesOf(url: string): Promise<ServerVariables> {
  const response = await fetch(`${url}/varz`, { signal: AbortSignal.timeout(answerMsMax) })
  return (await response.json()) as ServerVariables
}
