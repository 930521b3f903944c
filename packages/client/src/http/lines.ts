// The lines of a reply, as they arrive.
import { unreachable } from './failure.ts'

/** Cancels the reply when the caller stops. Fails with `unreachable` if the connection breaks, and so never ends early without saying so. */
export async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        throw unreachable('the server', error)
      })
      const lines = (rest + decoder.decode(value, { stream: !done })).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
      if (done) return
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
