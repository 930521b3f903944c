// Speaks the protocol of `annal mcp`, line by line, as an agent does.
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import type { Started } from './command.ts'

interface Reply {
  readonly id?: number
  readonly result?: {
    readonly tools?: readonly { readonly name: string }[]
    readonly content?: readonly { readonly text: string }[]
  }
  readonly error?: unknown
}

/** `started` is the command. */
export async function mcpAgent(t: Test, { child, ended }: Started) {
  const replies = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  let id = 0
  const ask = async (method: string, params: object = {}): Promise<Reply> => {
    id += 1
    child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    for (;;) {
      const { value, done } = await replies.next()
      if (done) throw new Error(`the connection ended: ${(await ended).err}`)
      const reply = JSON.parse(value) as Reply
      if (reply.id === id) return reply
    }
  }
  t.teardown(() => child.kill('SIGKILL'))
  const clientInfo = { name: 'test', version: '1' }
  await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
  child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
  const tool = async (name: string, input: object) => {
    const reply = await ask('tools/call', { name, arguments: input })
    return { reply, text: reply.result?.content?.[0]?.text ?? '' }
  }
  const close = () => {
    child.stdin?.end()
    return ended
  }
  return { ask, tool, close }
}
