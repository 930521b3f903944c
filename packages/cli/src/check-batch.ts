// The option --batch of the commands that store objects.
import type { Client } from '@annal/client'
import { amount } from './amounts.ts'
import type { ConnectionOptions } from './connection.ts'
import { usageError } from './exit-code.ts'

/** Of an engine in this process. */
const batchMaxDefault = 1_000

/** Refuses a batch that the server would refuse, before anything is created or stored. */
export async function checkBatch(
  client: Client,
  { batch, dataDir }: Pick<ConnectionOptions, 'dataDir'> & { readonly batch: number },
): Promise<void> {
  const max = dataDir === undefined ? await batchMaxOf(client) : batchMaxDefault
  if (batch >= 1 && batch <= max) return
  throw usageError(`--batch ${batch}: one request can have 1 to ${amount(max)} objects`)
}

/** A server that does not show its configuration refuses the batch itself. */
async function batchMaxOf(client: Client): Promise<number> {
  const settings = await client.configuration().catch(() => [])
  const setting = settings.find(({ name }) => name === 'NDD_BATCH_MAX')
  return setting === undefined ? Number.MAX_SAFE_INTEGER : Number(setting.value)
}
