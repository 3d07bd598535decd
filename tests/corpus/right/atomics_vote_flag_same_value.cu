// vote flag same value
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ int any;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) any = 0;
    __syncthreads();
    if (i < n && A[i] > 0) atomicExch(&any, 1);
    if (i < n && B[i] > 0) atomicOr(&any, 1);
    __syncthreads();
    if (i < n) C[i] = A[i] + B[i] + (any > 1 ? 1.0f : 0.0f);
}
