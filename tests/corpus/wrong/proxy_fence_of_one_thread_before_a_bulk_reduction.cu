__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void add_to(float* to, const float* from, int bytes) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"
                 ::"l"(to), "r"(smem(from)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ alignas(16) float sums[2][TILE_WIDTH];
    int t = threadIdx.x, first = blockIdx.x * TILE_WIDTH;
    float even = 0, odd = 0;
    for (int c = 0; c < Width; c += 2) {
        even += M[(first + t) * Width + c];
        odd += M[(first + t) * Width + c + 1];
    }
    Sums[first + t] = 0;
    sums[0][t] = even;
    sums[1][t] = odd;
    if (t == 0) asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (t < 2) {
        add_to(Sums + first, sums[t], sizeof(sums[t]));
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
