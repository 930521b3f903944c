// Short forms for the JSON schemas of the description. These schemas describe and never validate.

export interface JsonSchema {
  readonly [keyword: string]: unknown
}

/** All members are required, except those of `optional`. */
export function object(required: Members, optional: Members = {}): JsonSchema {
  const names = Object.keys(required)
  return {
    type: 'object',
    ...(names.length > 0 && { required: names }),
    properties: { ...required, ...optional },
  }
}

interface Members {
  readonly [name: string]: JsonSchema
}

export function ref(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}

export function list(items: JsonSchema, description?: string): JsonSchema {
  return { type: 'array', items, ...(description !== undefined && { description }) }
}

/** An object whose keys are the user's, such as names of fields. */
export function map(values: JsonSchema, description?: string): JsonSchema {
  return { type: 'object', additionalProperties: values, ...(description !== undefined && { description }) }
}

export function text(description?: string): JsonSchema {
  return { type: 'string', ...(description !== undefined && { description }) }
}

export function integer(description?: string): JsonSchema {
  return { type: 'integer', ...(description !== undefined && { description }) }
}

export function number(description?: string): JsonSchema {
  return { type: 'number', ...(description !== undefined && { description }) }
}

/** A string, a number, or a boolean. */
export function scalar(description?: string): JsonSchema {
  return { type: ['string', 'number', 'boolean'], ...(description !== undefined && { description }) }
}

export function flag(description?: string): JsonSchema {
  return { type: 'boolean', ...(description !== undefined && { description }) }
}

export function oneOfTexts(values: readonly string[], description?: string): JsonSchema {
  return { type: 'string', enum: values, ...(description !== undefined && { description }) }
}

/** Null, or a value of a schema that has one type. */
export function orNull(schema: JsonSchema): JsonSchema {
  if (schema.$ref !== undefined) return { anyOf: [schema, { type: 'null' }] }
  const values = schema.enum as readonly unknown[] | undefined
  return { ...schema, type: [schema.type, 'null'], ...(values !== undefined && { enum: [...values, null] }) }
}

export function anyOf(alternatives: readonly JsonSchema[], description?: string): JsonSchema {
  return { anyOf: alternatives, ...(description !== undefined && { description }) }
}

export function constant(value: string): JsonSchema {
  return { type: 'string', const: value }
}
