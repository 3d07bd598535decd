__device__ void store(float* to, float value) {
    asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" :: "l"(to), "f"(value) : "memory");
}
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        store(&C[i], A[i] + B[i]);
        if (i > 0) store(&C[i - 1], A[i - 1] + B[i - 1]);
    }
}
