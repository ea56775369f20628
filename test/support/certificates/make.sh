#!/bin/sh
# Makes the certificates of the tests anew, valid for a hundred years, but for the expired one. Needs OpenSSL 3.
set -eu
cd "$(dirname "$0")"
rm -f ./*.pem
subject() { printf '%s' "/O=Sallyport tests/CN=$1"; }
key() { openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1-key.pem"; }
# self NAME CN EXTENSION...
self() {
  name=$1 cn=$2
  shift 2
  key "$name"
  openssl req -x509 -new -key "$name-key.pem" -subj "$(subject "$cn")" -days 36500 -out "$name.pem" "$@"
}
# issued NAME CN CA EXTENSIONS [DAYS]
issued() {
  key "$1"
  openssl req -new -key "$1-key.pem" -subj "$(subject "$2")" |
    openssl x509 -req -CA "$3.pem" -CAkey "$3-key.pem" -days "${5:-36500}" -extfile /dev/fd/3 -out "$1.pem" 3<<END
$4
END
}
server='subjectAltName=DNS:gateway.test,DNS:localhost,IP:127.0.0.1
extendedKeyUsage=serverAuth'
client='extendedKeyUsage=clientAuth'

self ca 'CA' -addext keyUsage=critical,keyCertSign,cRLSign
self other-ca 'another CA' -addext keyUsage=critical,keyCertSign,cRLSign
issued server 'server 1' ca "$server"
issued renewed 'server 2' ca "$server" 36501
issued client 'alice' ca "$client"
issued other-client 'mallory' other-ca "$client"
self self-signed 'bob'
openssl pkey -in server-key.pem -aes256 -passout pass:secret -out encrypted-key.pem

key expired
rm -rf ca.tmp && mkdir ca.tmp && : >ca.tmp/index
openssl req -new -key expired-key.pem -subj "$(subject 'expired')" -out ca.tmp/request.pem
cat >ca.tmp/config <<'END'
[ca]
default_ca = only
[only]
database = ca.tmp/index
new_certs_dir = ca.tmp
certificate = ca.pem
private_key = ca-key.pem
default_md = sha256
rand_serial = yes
policy = any
[any]
commonName = supplied
organizationName = optional
END
openssl ca -batch -config ca.tmp/config -in ca.tmp/request.pem -out expired.pem -notext \
  -startdate 20200101000000Z -enddate 20200102000000Z 2>/dev/null
rm -rf ca.tmp
rm other-ca-key.pem ca-key.pem
