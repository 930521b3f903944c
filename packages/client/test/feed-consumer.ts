// A consumer of the change feed as a program of its own, which the test kills: it writes each LSN to its file before it acknowledges it.
//
//   node feed-consumer.ts URL CURSOR FILE
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AnnalError, connect } from '../src/index.ts'

const [url = '', cursor = '', file = ''] = process.argv.slice(2)
const client = connect({ url, retriesMax: 0 })
/** So many changes share an acknowledgement. */
const changesOfAcknowledgement = 5

for (let count = 0; ; ) {
  appendFileSync(file, 'begin\n')
  try {
    for await (const { lsn } of client.changes({ cursor, from: 1 })) {
      appendFileSync(file, `${lsn}\n`)
      if (++count % changesOfAcknowledgement === 0) await client.cursors.acknowledge(cursor, lsn)
    }
  } catch (error) {
    // The server is away when the session begins, or when it acknowledges.
    if (!(error as AnnalError).retryable) throw error
    await sleep(50)
  }
}
