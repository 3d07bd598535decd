__constant__ int size;

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) C[i] = A[i] + B[i];
}
