__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ __align__(16) float a[1024];
    __shared__ unsigned long long barrier;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x > 1000000) {
        unsigned int to = (unsigned int)__cvta_generic_to_shared(a), bar = (unsigned int)__cvta_generic_to_shared(&barrier);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 4096, [%2];" ::"r"(to),
                     "l"(A), "r"(bar)
                     : "memory");
        C[i] = a[threadIdx.x];
        return;
    }
    if (i < n) C[i] = A[i] + B[i];
}
