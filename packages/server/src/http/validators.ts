// The validators of requests. The schema of a part of a request is compiled when the first request of its route arrives, and the compiler is
// loaded then: to compile all schemas took a quarter of the time of a start, and most servers use a few routes.
import { createRequire } from 'node:module'
import type AjvCompiler from '@fastify/ajv-compiler'
import type { FastifyServerOptions } from 'fastify'

type Controller = NonNullable<FastifyServerOptions['schemaController']>
/** Gives the compiler for the schemas and options of a scope of fastify: the same one for the same values. */
type CompilerOf = AjvCompiler.BuildCompilerFromPool
type Compile = ReturnType<CompilerOf>

/** A function that validates, with the errors of its last call. */
interface Validate {
  (data: unknown): unknown
  errors?: ReturnType<Compile>['errors']
}

const require = createRequire(import.meta.url)

/** How fastify makes validators and serializers. No route has a schema for its replies, so no serializer is ever made. */
export function lazyValidators(): Controller {
  let compilers: CompilerOf | undefined
  const compilerOf: CompilerOf = (...scope) => {
    // fastify's own default. Its call cannot wait for an import.
    compilers ??= (require('@fastify/ajv-compiler') as typeof AjvCompiler)()
    return compilers(...scope)
  }
  const buildValidator: CompilerOf = (...scope) => {
    // fastify passes one object that describes the part of the route; the types of its compiler name only its schema.
    const compile: Compile = (...part) => lazy(() => compilerOf(...scope)(...part)) as ReturnType<Compile>
    return compile
  }
  return { compilersFactory: { buildValidator, buildSerializer: () => () => JSON.stringify } }
}

/**
 * Compiles with the first call. Returns the errors instead of leaving them at the function until its next call, because they have the whole
 * value: of each route, the last invalid body would stay in memory.
 */
function lazy(compile: () => Validate): (data: unknown) => unknown {
  let compiled: Validate | undefined
  return (data) => {
    compiled ??= compile()
    const valid = compiled(data)
    const { errors } = compiled
    compiled.errors = null
    return valid === false ? { error: errors } : valid
  }
}
