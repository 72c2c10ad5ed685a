# SPDX-License-Identifier: MIT
from conan import ConanFile
from conan.tools.files import copy
from conan.tools.scm import Git


class Flake(ConanFile):
    name = "flake"
    version = "0.4.0"
    description = "Unique, time-ordered IDs from any number of threads, without locks: two C11 headers"
    license = "MIT"
    homepage = url = "https://git.example/flake"
    topics = "id", "uuid", "ulid", "snowflake", "header-only"
    package_type = "header-library"

    def source(self):
        Git(self).fetch_commit("https://git.example/flake.git", "COMMIT")

    def package(self):
        for header in ("flake.h", "sno.h"):
            copy(self, header, self.source_folder, self.package_folder + "/include")
        copy(self, "LICENSE", self.source_folder, self.package_folder + "/licenses")

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
