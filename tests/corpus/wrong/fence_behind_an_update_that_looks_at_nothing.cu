__device__ unsigned int arrived;
__device__ float kept[1 << 21];
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int other = gridDim.x * blockDim.x - 1 - i;
    kept[i] = i < n ? A[i] + B[i] : 0.0f;
    __threadfence();
    atomicAdd(&arrived, 1u);
    atomicAdd(&arrived, 1u);
    __threadfence();
    float sum = kept[other];
    if (other < n) C[other] = sum;
}
