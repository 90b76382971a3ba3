"""The keys whose signatures are trusted: those of the vendors, pinned, and those in a user's file (I/O).

Pinned is the key itself, by its numbers. A copy of a vendor's key file would carry a date of expiry (tools
with one stopped working on 2026-04-18, though the key is the same to this day), and a key that is fetched
while it is needed stops everything when the page it comes from is down.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hereya_tf.engine import EngineName
from hereya_tf.errors import BadInput
from hereya_tf.reading import read_input_file, reason
from hereya_tf.releases import openpgp
from hereya_tf.releases.signatures import REVOKED, PublicKey
from hereya_tf.words import flat

_REVOKES_KEY, _REVOKES_SUBKEY = 0x20, 0x28
_LARGEST_FILE = 1024 * 1024  # bytes
_RSA_BITS = range(2048, 16384 + 1)
_LONGEST_EXPONENT = 64  # bits; OpenSSL takes no more
_LONGEST_OWNER = 200
_EXPORT = "write one with `gpg --armor --output FILE --export KEY`"
_WHICH_KEYS = "use RSA keys of 2048 bits or more, in OpenPGP's version 4"


class _Pinned(NamedTuple):
    """A vendor's key; `created` in Unix seconds is a part of its fingerprint, `modulus` is hexadecimal."""

    created: int
    modulus: str
    exponent: int = 65537


_HASHICORP = (
    # C874011F0AB405110D02105534365D9472D7468F, the primary key.
    _Pinned(
        created=1618869017,
        modulus=(
            "9a6d864e58a9a066c1d37510e2c8f27185bb9488a5fae4651693244c24a8bfd5dbe25713973c6ea104fb45e3c2059d5831"
            "2a921bec6e8d8c1a2eb0057e0ae2e5bf9caa14aa4e644182eac055f86c7c56ed42202a65666f87a503dc233c01a4df80af"
            "897f7b1086fdffcc66afe8c46807f93c911775dc6038c6f1d6c90a91cee674390b2f61408a77fc1874f64113ea593ee109"
            "687cd8072954f67a957c88ad5c5e56d07b6b59b5f094b7193ea71bd4d141d7a7e001d31737fe02218d9a7f75e3e608ec90"
            "c863c96e9e5ba4ee1478027a7ebaa17b198d95ac3d67cf7b96d66644b1aad69e1a46758bf053e4073f520922974bcb8dc9"
            "5e6830d567e06d686c291cd74ea25ae2814e26df7d8433ab94c6f0561524aae1470581ea989a70407c865db4208592c483"
            "3727db53ec23d29e4e51618093447800e4e3aba99842ec979fb9dacff27f8ca7190380d3910eeec609f02e8acadfedd5d8"
            "8cbb311b8b6edb60c12490b473f2294695c39ceb893754397bfdd550a2969b2a4dba6b90a4fe657356451bae134736f51d"
            "1ea821d1df6eb5507dd8905e9bdd705c7e165e7b5ae52b697455eaa7dbe1998a1d7d4913033feedbb6d50138175773d23a"
            "e82d2ae2719c5f6824c71d635fbc6268677d3f31952ba520b421f077890badc5b66bc0895306df9f18bb66def0edc0c14d"
            "58cf916f596b3b11107767a28ddc61bc1387b6521cb3"
        ),
    ),
    # 374EC75B485913604A831CC7C820C6D5CD27AB87, the subkey that signs since April 2021.
    _Pinned(
        created=1619024934,
        modulus=(
            "d6e9136b65518d5ef1d506a4a23966b19755ce884a221cfb79d008a3b76e725db1bed241c8152a11fb583a2e1db4253082"
            "8607d09061a3cd0bc4b86d474f0d3b621b2f2dcd2992334c7eeea026a168c7fa20739de6cfaf4ec576aecd443f4d9dbb18"
            "3569501bbe1210cab75b373ad03a063cff72ca29fd49bb813d3e8af1f2bc9fe319d9cf119bfcb4db9213f528fa19ff43d8"
            "60f126ef799ce8dc2f94e0a71a6c211210597c1aae9a462f6f01f6bae68c43e6329a233edccbea706f4962cea956ec7f6d"
            "425af77417dd21c773811e79853142e7f5eb73027afe71d51ffc46b2411ab277c2417f1160a32ecb45000c9cbbd939196d"
            "8682c7e5d721c541f064ce989568021ad349254b019b297c29e3c274b18ac0e7dd9cec62bab7715eac53c6fe425217ed50"
            "23bab13ee5c6625656b18028f284aaa51a09a89e745e58e05a70280bfd4beec0c98ca794d32e688b5cb4fbbb1786a23132"
            "a02938b0caeaad4d637af1f21a50c91fd4dabb1d791882c3c276057c0bcf17d58289de146783aec2371ac5fcacdcbc4d89"
            "922552c5cd2b04b79a188c44be1346c6ece24e1013e2c830eb1ab88bdcbe6f3f7ebc9dbd0fe45302215531fcd1718e1fdd"
            "3d6d8b49bd8ddfb9d2bb4a12309bb6454ddb812541b8ef713f167dd59214e6057ebe3e3382e741d1fc7c9bc1a442cdf0eb"
            "b8c7b74c0704fed48fe4250e6fd0bbf8ffa13f341c0f"
        ),
    ),
    # B36CBA91A2C0730C435FC280B0B441097685B676, the subkey of April 2021 alone; old releases were re-signed by it.
    _Pinned(
        created=1618869797,
        modulus=(
            "b8af9654e3328971516d8ec6b5dbf9ad8fb7abe3081b22273ad48f43daeb753e953f6395d6c209f80fc03a5c0ee3b53b4e"
            "50f24d4ca1867a1dd7635a7a8a1bb4b77aa915e5cddcb776a6017a79d7740329951f203ca53a6854aafc63120bc68dd463"
            "cfa904085198afa5678ffa7a0305afe3f14144596babb7274203f29db207e21ad6bdec29dd3ab019582a9b9451a1fb80ba"
            "08bc899415940890649a3cf326b3b4043fed5b170621d39fad6e810f1b29d02cafcc3f6595391d27072ea46895c620d1c2"
            "8df7573411b26af64d4b502fff09a90f07d9a18b9f9a515506bac20cf040928541204930a229088950f6760856db3c4f4b"
            "e68f71a0f0b18d7a17fabecbfd6ca808f4dea12dd84543049d62af738d98c73de67916fe0666aa81b85e366cce6a1e6733"
            "03eea496261eb8d63e45fba32c87c4b485c3876da0fda3e99ec67515ca6b675461d936c772582a872b0e83c78774344c06"
            "6e8eda5d8c58b5052f296f16056f784798649dbf3ed3eca72a3fb0a10bb93644028e1a21bb4107b8357dec48c830798a65"
            "e0ec2f40e9fbdede42556629fe02013591ac5373eda3c836eef1de5b21fd98aaf87127a90e1c3efd7f0519135dc4d7e92c"
            "a9bb55cd129bd4a87fc4d116b053a97faf210ba9607462e50402b98695e8e56b21379e80d2b74a8e26dfd77a6a3091f50c"
            "516e68e7c7d51c9d26180e6201e9fa41bb04f4a2036d"
        ),
    ),
)
_OPENTOFU = (
    # E3E6E43D84CB852EADB0051D0C0AF313E5FD9F80, which signs itself.
    _Pinned(
        created=1700055180,
        modulus=(
            "cf83a8d4266e6588c4e20e7772a6b9f05d0db719dc909bf916f4c14e8580d192c9a66eccf40c27ea9ed169ba82b13d7cc0"
            "f894eb66559938db54fa57998c83a5015662cf4af0cf9109abbb88ae4b9e5ad524e8062404b37ecccb5bba2d33dc708f54"
            "d9d1e419553725d0796de396b42dcee29ebe3656cc8d206d01a010a3698fe95fc9116eeaadeefd3d28de9ffa6ce3a5407c"
            "0232d9c5956a63afa7ff27611d5153bfe8d6074332263e3e0b20d5c5ffe7aaa3bbfab2f16d6954ed4441b657657b59eedb"
            "bbf709f8d809607eeba3b5210754501f6934f4d769482b7d17ad0f544467391a7118190cfd5299ce0312cd1bdda71516c2"
            "b2f17c0c629eee5d75b066df2d1bcda53cd0e4f78b5aab588a96ef77e67461d0ef581b27146bae8c8b3167a18dc27ff562"
            "43c641eab1f3caa8189f62ca7afc9f67a5ccc37d253ecd80551a947bddae0475b788456ab06c7d0b5a195b8b520ce5a143"
            "69930536463e016c8ff8e1e7f0a7a1bba0ce221d4054ceefeef2f1697f61b758d525bb308ef3c562abafd43bd475ced53f"
            "6407cf7c5cb504b5199250d5e91c813bfdad161750e3b09272278ed90cf64403b7206454b70473c85adc27e1e8f26c7083"
            "f9547c1a34c8003ebf6db25df1a9dcf9ea5e543e315216e7a5f7c8d206a9fcdd5ad3d2e2b03343e70d51ddffbabcf83835"
            "12d3a080cc19f37d0a39114d7637efeb276c06f97b7f"
        ),
    ),
)


def pinned_keys(engine: EngineName) -> tuple[PublicKey, ...]:
    """The keys that sign the releases of an engine.

    Fingerprints are computed: a digit that is wrong above makes another key, which has signed nothing.
    """
    keys, owner = (_HASHICORP, "HashiCorp") if engine is EngineName.TERRAFORM else (_OPENTOFU, "OpenTofu")
    return tuple(_public_key(key, owner) for key in keys)


def _public_key(pinned: _Pinned, owner: str) -> PublicKey:
    modulus = int(pinned.modulus, 16)
    fingerprint = openpgp.rsa_fingerprint(created=pinned.created, modulus=modulus, exponent=pinned.exponent)
    return PublicKey(fingerprint=fingerprint, modulus=modulus, exponent=pinned.exponent, owner=owner)


def read_key_file(path: Path, *, revoked: Mapping[str, str] = REVOKED) -> tuple[PublicKey, ...]:
    """The RSA keys and subkeys in a file of public keys, armoured or binary. Raises BadInput.

    Whoever names the file trusts all of it: no date and no certification is looked at. Keys that are
    revoked (there, or among `revoked` as fingerprint and description) or of another kind than RSA are left
    out; a file that has no others is refused.
    """
    try:
        data = read_input_file(path)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"`{path}` cannot be read: {reason(error)}", "check the path and its permissions"
        ) from error
    if len(data) > _LARGEST_FILE:
        raise BadInput(f"`{path}` is larger than {_LARGEST_FILE >> 20} MiB", "is it the right file?")
    try:
        offers = [offer for family in _families(data) for offer in _offers(family, revoked)]
    except openpgp.MalformedError as error:
        raise BadInput(f"`{path}` is not a file of public keys: {error}", _EXPORT) from error
    if usable := tuple(offer for offer in offers if isinstance(offer, PublicKey)):
        return usable
    if not offers:
        raise BadInput(f"`{path}` holds no public key", _EXPORT)
    kinds = ", ".join(dict.fromkeys(str(offer) for offer in offers))
    raise BadInput(f"`{path}` holds no key that can be used, only {kinds}", _WHICH_KEYS)


def _families(data: bytes) -> list[list[openpgp.Packet]]:
    """Each primary key with what stands behind it: revocations, user ids, subkeys."""
    packets = list(openpgp.packets(openpgp.binary(data, "PUBLIC KEY BLOCK")))
    if any(packet.tag in (openpgp.SECRET_KEY, openpgp.SECRET_SUBKEY) for packet in packets):
        raise openpgp.MalformedError("it holds a private key")
    return _split(packets, openpgp.PUBLIC_KEY)


def _split(packets: Sequence[openpgp.Packet], *tags: int) -> list[list[openpgp.Packet]]:
    """Each packet of these tags with what stands behind it."""
    parts: list[list[openpgp.Packet]] = []
    for packet in packets:
        if packet.tag in tags:
            parts.append([])
        if parts:
            parts[-1].append(packet)
    return parts


def _offers(family: Sequence[openpgp.Packet], revoked: Mapping[str, str]) -> Iterator[PublicKey | str]:
    """The keys of a family; what cannot be used, in words."""
    owner = next((_name(packet.body) for packet in family if packet.tag == openpgp.USER_ID), "")
    is_over = any(_is_signature(packet, _REVOKES_KEY) for packet in family)
    for packet, *behind in _split(family, openpgp.PUBLIC_KEY, openpgp.PUBLIC_SUBKEY):
        key = openpgp.read_key(packet.body)
        is_revoked = is_over or any(_is_signature(other, _REVOKES_SUBKEY) for other in behind)
        why = revoked.get(key.fingerprint) or ("a revoked key" if is_revoked else _unusable(key))
        yield why or PublicKey(
            fingerprint=key.fingerprint,
            modulus=key.modulus,
            exponent=key.exponent,
            owner=owner or key.fingerprint,
        )


def _name(user_id: bytes) -> str:
    return flat(user_id.decode("utf-8", "replace")[:_LONGEST_OWNER])


def _is_signature(packet: openpgp.Packet, kind: int) -> bool:
    # The second byte has been the kind since version 4.
    return packet.tag == openpgp.SIGNATURE and packet.body[1:2] == bytes((kind,))


def _unusable(key: openpgp.Key) -> str | None:
    """Why a key cannot be used; None when it can."""
    if key.version != 4:
        return f"a key of version {key.version}"
    if key.algorithm not in openpgp.RSA:
        kind = openpgp.KEY_ALGORITHMS.get(key.algorithm, f"of algorithm {key.algorithm}")
        return f"a key that is not for signing with RSA ({kind})"
    if key.modulus.bit_length() not in _RSA_BITS:
        return f"an RSA key of {key.modulus.bit_length()} bits"
    if (
        key.exponent.bit_length() > _LONGEST_EXPONENT
        or key.exponent < 3
        or not key.exponent & key.modulus & 1
    ):
        return "an RSA key of numbers that no key has"
    return None
