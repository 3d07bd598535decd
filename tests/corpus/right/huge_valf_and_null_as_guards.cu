__device__ int status = EXIT_SUCCESS;

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    if (A == NULL || B == NULL || C == NULL) return;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = A[i] + B[i];
    if (fabsf(sum) < HUGE_VALF) C[i] = sum;
    if (status == EXIT_FAILURE) C[i] = HUGE_VAL;
}
