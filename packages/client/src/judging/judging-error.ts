// What a person wrote and has to fix: a file of judged queries, or a setting.

/** `source` says which input is wrong: a file of judged queries, or a setting. */
export class JudgingError extends Error {
  override readonly name = 'JudgingError'
  readonly source: 'file' | 'setting'

  constructor(source: JudgingError['source'], message: string) {
    super(message)
    this.source = source
  }
}
