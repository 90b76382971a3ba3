"""Makes certificates for servers on this machine."""

import ssl
from pathlib import Path
from typing import NamedTuple


class Certificates(NamedTuple):
    """A certificate authority of the test's own; `trust` is for SSL_CERT_FILE."""

    trust: Path
    context: ssl.SSLContext


def make_certificates(directory: Path, *names: str) -> Certificates:
    """An authority, and a server's certificate for 127.0.0.1, localhost and `names`; good for a day."""
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = datetime.datetime.now(datetime.UTC)
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority of the tests")])

    def certificate(
        subject: x509.Name, public_key: ec.EllipticCurvePublicKey, *, ca: bool
    ) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder(issuer_name=authority, subject_name=subject, public_key=public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
            )
        )
        if ca:
            usage = x509.KeyUsage(
                digital_signature=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                key_cert_sign=True,
                crl_sign=True,
                encipher_only=False,
                decipher_only=False,
            )
            builder = builder.add_extension(usage, critical=True)
        else:
            hosts = [x509.DNSName(name) for name in ("localhost", *names)]
            number = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
            builder = builder.add_extension(x509.SubjectAlternativeName([number, *hosts]), critical=False)
        return builder.sign(authority_key, hashes.SHA256())

    pem = serialization.Encoding.PEM
    trust = directory / "authority.pem"
    trust.write_bytes(certificate(authority, authority_key.public_key(), ca=True).public_bytes(pem))
    server = directory / "server.pem"
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    server.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate(subject, key.public_key(), ca=False).public_bytes(pem)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server)
    return Certificates(trust, context)
