from engine.clients.annal.configure import AnnalConfigurator
from engine.clients.annal.search import AnnalSearcher
from engine.clients.annal.upload import AnnalUploader

__all__ = ["AnnalConfigurator", "AnnalSearcher", "AnnalUploader"]
