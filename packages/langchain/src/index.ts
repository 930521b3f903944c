// @annal/langchain: Annal as a vector store of LangChain.js.
export { AnnalVectorStore, type AnnalVectorStoreOptions, type DeleteOptions } from './vector-store.ts'
