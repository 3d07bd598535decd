__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (i < n) C[i] = A[i] + B[i];
    asm volatile("griddepcontrol.launch_dependents;");
}
