// Replaces texts with tokens: equal texts get equal tokens, different texts different tokens, each with the same number of bytes, so
// that the log keeps its size and its filters their selectivity.
import { createHmac } from 'node:crypto'

const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

export class Tokens {
  readonly #secret: Uint8Array
  readonly #given = new Map<string, string>()
  readonly #taken = new Set<string>()
  readonly #texts = new Set<string>()

  constructor(secret: Uint8Array) {
    this.#secret = secret
  }

  /** The token of a text. Short texts can run out of tokens; then the token is longer. */
  of(text: string): string {
    if (text === '') return ''
    const known = this.#given.get(text)
    if (known !== undefined) return known
    this.#texts.add(text)
    let length = Buffer.byteLength(text)
    for (let attempt = 0; ; attempt++) {
      const token = this.#drawn(text, attempt, length)
      // A token must not equal any known text, in particular its own.
      if (!this.#taken.has(token) && !this.#texts.has(token)) {
        this.#taken.add(token)
        this.#given.set(text, token)
        return token
      }
      if (attempt % 256 === 255) length++
    }
  }

  #drawn(text: string, attempt: number, length: number): string {
    let token = ''
    for (let block = 0; token.length < length; block++) {
      const bytes = createHmac('sha256', this.#secret).update(`${attempt} ${block} ${text}`).digest()
      for (const byte of bytes) token += letters[byte % letters.length]
    }
    return token.slice(0, length)
  }
}
