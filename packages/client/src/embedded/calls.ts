// A group of operations, implemented on an engine.
import type { Database, Engine, WriteOptions } from '@annal/engine'
import type { OperationName, Operations } from '../operations.ts'

export interface Host {
  readonly engine: Engine
  readonly database: Database
}

type Call<Name extends OperationName> = (
  host: Host,
  input: Operations[Name]['input'],
  /** For operations that write. */
  write: WriteOptions,
) => Operations[Name]['output'] | Promise<Operations[Name]['output']>

export type Calls<Names extends OperationName> = { readonly [Name in Names]: Call<Name> }
